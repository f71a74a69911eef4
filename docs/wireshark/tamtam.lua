-- Dissector of what tamtam puts into packets, for Wireshark and tshark 3.6 and later:
--   tshark -X lua_script:tamtam.lua -r FILE
-- tail stamps at the end of frames, in ERSPAN copies too (tamtam.stamp); the record of table recording at the end of copies in UDP
-- and ERSPAN (tamtam.record); tamtam's own elements in IPFIX messages over UDP (tamtam.ipfix); Inband Flow Analyzer 2.0 in packets of
-- TCP and UDP, in ERSPAN copies, and in what a terminator reports by IPFIX (tamtam.ifa).

local tamtam = Proto("tamtam", "tamtam")

tamtam.prefs.enterprise = Pref.uint("Enterprise number", 32473, "of tamtam's own IPFIX elements (--enterprise-id)")

local NO_PORT = 65535

local stamp = {
  record = ProtoField.bytes("tamtam.stamp", "Tail stamp"),
  hop = ProtoField.uint32("tamtam.stamp.hop", "Hop"),
  switch = ProtoField.uint32("tamtam.stamp.switch", "Switch id"),
  ingress = ProtoField.absolute_time("tamtam.stamp.ingress", "Ingress time", base.UTC),
  egress = ProtoField.absolute_time("tamtam.stamp.egress", "Egress time", base.UTC),
  in_port = ProtoField.uint16("tamtam.stamp.in_port", "Ingress port"),
  out_port = ProtoField.uint16("tamtam.stamp.out_port", "Egress port"),
  no_egress = ProtoField.bool("tamtam.stamp.no_egress", "No egress time"),
  unsynchronised = ProtoField.bool("tamtam.stamp.unsynchronised", "Clock not synchronised"),
  clock_set = ProtoField.bool("tamtam.stamp.clock_set", "Clock set in between"),
  residence = ProtoField.int64("tamtam.stamp.residence", "Residence in ns"),
}

local record = {
  record = ProtoField.bytes("tamtam.record", "Record of tables"),
  bits = ProtoField.bytes("tamtam.record.bits", "Bits"),
  switch = ProtoField.uint32("tamtam.record.switch", "Switch id"),
  plan = ProtoField.uint32("tamtam.record.plan", "Plan"),
  ingress = ProtoField.absolute_time("tamtam.record.ingress", "Ingress time", base.UTC),
  taken = ProtoField.absolute_time("tamtam.record.taken", "Time of the record", base.UTC),
  in_port = ProtoField.uint16("tamtam.record.in_port", "Ingress port"),
  out_port = ProtoField.uint16("tamtam.record.out_port", "Egress port"),
  length = ProtoField.uint32("tamtam.record.length", "Frame length"),
  reason = ProtoField.uint8("tamtam.record.reason", "Drop reason"),
  trap = ProtoField.uint8("tamtam.record.trap", "Trap"),
  queue = ProtoField.uint8("tamtam.record.queue", "Queue"),
  in_lane = ProtoField.uint16("tamtam.record.in_lane", "Ingress lane"),
  out_lane = ProtoField.uint16("tamtam.record.out_lane", "Egress lane"),
  identities = ProtoField.bytes("tamtam.record.identities", "Identities"),
  identity = ProtoField.string("tamtam.record.identity", "Identity"),
  unsynchronised = ProtoField.bool("tamtam.record.unsynchronised", "Clock not synchronised"),
  clock_set = ProtoField.bool("tamtam.record.clock_set", "Clock set in between"),
  no_room = ProtoField.bool("tamtam.record.no_room", "No room for identities"),
}

local ifa = {
  ifa = ProtoField.bytes("tamtam.ifa", "Inband Flow Analyzer"),
  gns = ProtoField.uint8("tamtam.ifa.gns", "Global name space"),
  next = ProtoField.uint8("tamtam.ifa.next", "Protocol"),
  flags = ProtoField.uint8("tamtam.ifa.flags", "Flags", base.HEX),
  max_length = ProtoField.uint8("tamtam.ifa.max_length", "Longest stack in words"),
  request = ProtoField.uint8("tamtam.ifa.request", "Request vector", base.HEX),
  action = ProtoField.uint8("tamtam.ifa.action", "Action vector", base.HEX),
  hop_limit = ProtoField.uint8("tamtam.ifa.hop_limit", "Hop limit"),
  length = ProtoField.uint8("tamtam.ifa.length", "Stack in words"),
  hop = ProtoField.bytes("tamtam.ifa.hop", "Hop"),
  lns = ProtoField.uint8("tamtam.ifa.lns", "Local name space"),
  device = ProtoField.uint32("tamtam.ifa.device", "Device id"),
  ttl = ProtoField.uint8("tamtam.ifa.ttl", "TTL"),
  speed = ProtoField.uint8("tamtam.ifa.speed", "Code of the egress port's speed"),
  congestion = ProtoField.uint8("tamtam.ifa.congestion", "Congestion"),
  queue = ProtoField.uint8("tamtam.ifa.queue", "Queue"),
  received = ProtoField.absolute_time("tamtam.ifa.received", "Ingress time", base.UTC),
  in_port = ProtoField.uint16("tamtam.ifa.in_port", "Ingress port"),
  out_port = ProtoField.uint16("tamtam.ifa.out_port", "Egress port"),
  residence = ProtoField.uint32("tamtam.ifa.residence", "Residence in ns"),
  queue_bytes = ProtoField.uint32("tamtam.ifa.queue_bytes", "Bytes in the queue"),
  no_egress = ProtoField.bool("tamtam.ifa.no_egress", "No egress time"),
  unsynchronised = ProtoField.bool("tamtam.ifa.unsynchronised", "Clock not synchronised"),
  clock_set = ProtoField.bool("tamtam.ifa.clock_set", "Clock set in between"),
}

-- The own elements: id, name, and u (unsigned), i (signed), s (string) or b (boolean).
local own = {
  [1] = {"tamtamSwitchId", "u"},
  [2] = {"tamtamHopIndex", "u"},
  [3] = {"tamtamHopCount", "u"},
  [4] = {"tamtamHopFlags", "u"},
  [5] = {"tamtamResidence", "i"},
  [6] = {"tamtamLinkDelay", "i"},
  [7] = {"tamtamFrameNumber", "u"},
  [16] = {"tamtamPath", "s"},
  [17] = {"tamtamFrom", "s"},
  [18] = {"tamtamTo", "s"},
  [19] = {"tamtamPeriod", "u"},
  [20] = {"tamtamPeriodStatus", "u"},
  [21] = {"tamtamReasons", "s"},
  [22] = {"tamtamRevised", "b"},
  [23] = {"tamtamSentPackets", "u"},
  [24] = {"tamtamSentOctets", "u"},
  [25] = {"tamtamLostPackets", "i"},
  [26] = {"tamtamDelay", "i"},
  [27] = {"tamtamRawDelay", "i"},
  [28] = {"tamtamJitter", "i"},
  [29] = {"tamtamWindowDelays", "u"},
  [30] = {"tamtamWindowMinDelay", "i"},
  [31] = {"tamtamWindowMeanDelay", "i"},
  [32] = {"tamtamWindowMaxDelay", "i"},
  [48] = {"tamtamDropEvent", "u"},
  [49] = {"tamtamDropReason", "u"},
  [50] = {"tamtamDropStage", "u"},
  [51] = {"tamtamDropFlags", "u"},
  [52] = {"tamtamQueue", "u"},
  [53] = {"tamtamQueueDepth", "u"},
  [54] = {"tamtamQueueFiller1", "u"},
  [55] = {"tamtamQueueFilled1", "u"},
  [56] = {"tamtamQueueFiller2", "u"},
  [57] = {"tamtamQueueFilled2", "u"},
  [58] = {"tamtamQueueFiller3", "u"},
  [59] = {"tamtamQueueFilled3", "u"},
  [60] = {"tamtamDropReasonIngress", "u"},
  [61] = {"tamtamDropReasonEgress", "u"},
  [62] = {"tamtamUserMetadata", "u"},
  [63] = {"tamtamClassOfService", "u"},
  [64] = {"tamtamObjectName", "s"},
  [65] = {"tamtamObjectLabel", "u"},
  [66] = {"tamtamSampleInterval", "u"},
  [67] = {"tamtamReplacedTemplate", "u"},
}

local element = {}
local fields = {}
for _, group in ipairs({stamp, record, ifa}) do
  for _, field in pairs(group) do fields[#fields + 1] = field end
end
local make = {u = ProtoField.uint64, i = ProtoField.int64, s = ProtoField.string, b = ProtoField.bool}
for id, e in pairs(own) do
  element[id] = make[e[2]]("tamtam.ipfix." .. e[1], e[1])
  fields[#fields + 1] = element[id]
end
tamtam.fields = fields

local doubt = ProtoExpert.new("tamtam.doubt", "A time that is not vouched for, or not known", expert.group.SEQUENCE, expert.severity.NOTE)
tamtam.experts = {doubt}

-- Times of IEEE 1588: 48 bits of seconds, 32 of nanoseconds.
local function time_at(tvb, at)
  local seconds = tvb(at, 2):uint() * 4294967296 + tvb(at + 2, 4):uint()
  return seconds, tvb(at + 6, 4):uint()
end

local function add_time(tree, field, tvb, at)
  local seconds, ns = time_at(tvb, at)
  if ns < 1000000000 and seconds < 9007199254 and (seconds > 0 or ns > 0) then
    tree:add(field, tvb(at, 10), NSTime.new(seconds, ns))
    return true
  end
  tree:add_proto_expert_info(doubt, "no time")
  return false
end

local function add_port(tree, field, tvb, at, other)
  local item = tree:add(field, tvb(at, 2))
  local port = tvb(at, 2):uint()
  item:append_text(port == NO_PORT and " (" .. other .. ")" or " (Ethernet" .. port .. ")")
end

-- ip_packet finds the IP packet of an Ethernet II frame at base: its protocol, where its payload begins and where it ends, and
-- whether it is a fragment, and its source. Nil: none that is whole before limit.
local function ip_packet(tvb, base, limit)
  local at = base + 12
  for _ = 0, 4 do
    if at + 2 > limit then return nil end
    local type = tvb(at, 2):uint()
    if type == 0x0800 then
      at = at + 2
      if at + 20 > limit or bit.rshift(tvb(at, 1):uint(), 4) ~= 4 then return nil end
      local head, total = bit.band(tvb(at, 1):uint(), 15) * 4, tvb(at + 2, 2):uint()
      if head < 20 or total < head or at + total > limit then return nil end
      local fragment = bit.band(tvb(at + 6, 2):uint(), 0x3fff) ~= 0
      return tvb(at + 9, 1):uint(), at + head, at + total, fragment, tostring(tvb(at + 12, 4):bytes())
    elseif type == 0x86dd then
      at = at + 2
      if at + 40 > limit or bit.rshift(tvb(at, 1):uint(), 4) ~= 6 then return nil end
      local total = 40 + tvb(at + 4, 2):uint()
      if at + total > limit then return nil end
      return tvb(at + 6, 1):uint(), at + 40, at + total, false, tostring(tvb(at + 8, 16):bytes())
    elseif type ~= 0x8100 and type ~= 0x88a8 then
      return nil
    end
    at = at + 4
  end
  return nil
end

-- is_stamp reports whether the 32 bytes at a place are a record.
local function is_stamp(tvb, at)
  return tvb(at + 28, 3):uint() == 0x5a and bit.band(tvb(at + 31, 1):uint(), 0xf0) == 0x10 and
    tvb(at + 10, 4):uint() < 1000000000 and tvb(at + 20, 4):uint() < 1000000000
end

-- stamps shows the records between the end of the IP packet and that of its frame, oldest first. It does not search for records
-- behind which other bytes stand, as tamtam decode does.
local function stamps(tvb, root, stop, limit)
  local first = limit
  while first - 32 >= stop and is_stamp(tvb, first - 32) do
    first = first - 32
  end
  local hop = 0
  for at = first, limit - 32, 32 do
    hop = hop + 1
    local tree = root:add(tamtam, tvb(at, 32), "tamtam tail stamp, hop " .. hop .. ", switch " .. tvb(at, 4):uint())
    local flags = tvb(at + 31, 1):uint()
    tree:add(stamp.record, tvb(at, 32))
    tree:add(stamp.hop, tvb(at, 32), hop)
    tree:add(stamp.switch, tvb(at, 4))
    local came = add_time(tree, stamp.ingress, tvb, at + 4)
    local no_egress = bit.band(flags, 1) ~= 0
    local clock_set = bit.band(flags, 4) ~= 0
    if not no_egress and add_time(tree, stamp.egress, tvb, at + 14) and came and not clock_set then
      local s1, n1 = time_at(tvb, at + 4)
      local s2, n2 = time_at(tvb, at + 14)
      if math.abs(s2 - s1) < 1000000 then
        tree:add(stamp.residence, tvb(at + 4, 20), Int64.new((s2 - s1) * 1000000000 + n2 - n1)):set_generated()
      end
    end
    add_port(tree, stamp.in_port, tvb, at + 24, "none")
    add_port(tree, stamp.out_port, tvb, at + 26, "CPU")
    tree:add(stamp.no_egress, tvb(at + 31, 1), no_egress)
    local doubtful = bit.band(flags, 2) ~= 0
    tree:add(stamp.unsynchronised, tvb(at + 31, 1), doubtful)
    if doubtful then tree:add_proto_expert_info(doubt, "clock not synchronised") end
    tree:add(stamp.clock_set, tvb(at + 31, 1), clock_set)
    if clock_set then tree:add_proto_expert_info(doubt, "clock set in between") end
  end
end

-- Identities by their kinds: how each is called, and what its value is.
local kinds = {
  {"rule", "text"}, {"acl_entry", "id"}, {"egress_rule", "text"}, {"egress_acl_entry", "id"}, {"source", "fdb"}, {"route", "prefix"},
  {"next_hop", "address"}, {"neighbor", "mac"}, {"fdb", "fdb"}, {"queue", "queue"},
}

local function address_at(tvb, at, n)
  return tostring(n == 4 and tvb(at, 4):ipv4() or tvb(at, 16):ipv6())
end

-- What the values of a kind are as text; nil: it is not as long as its kind is.
local value_text = {
  text = function(tvb, at, n) return n > 0 and tvb(at, n):string() or nil end,
  id = function(tvb, at, n) return n == 8 and "0x" .. tostring(tvb(at, 8):bytes()):lower():gsub("^0+", "") or nil end,
  fdb = function(tvb, at, n) return n == 8 and tostring(tvb(at + 2, 6):ether()) .. " in VLAN " .. tvb(at, 2):uint() or nil end,
  prefix = function(tvb, at, n)
    return (n == 5 or n == 17) and address_at(tvb, at + 1, n - 1) .. "/" .. tvb(at, 1):uint() or nil
  end,
  address = function(tvb, at, n) return (n == 4 or n == 16) and address_at(tvb, at, n) or nil end,
  mac = function(tvb, at, n) return n == 6 and tostring(tvb(at, 6):ether()) or nil end,
  queue = function(tvb, at, n)
    return n == 5 and tvb(at, 1):uint() .. ", " .. tvb(at + 1, 4):uint() .. " bytes in it" or nil
  end,
}

local function identities(tvb, tree, at, limit)
  while at + 2 <= limit do
    local kind, n = kinds[tvb(at, 1):uint()], tvb(at + 1, 1):uint()
    if at + 2 + n > limit then return end
    local text = kind and value_text[kind[2]](tvb, at + 2, n)
    if text then tree:add(record.identity, tvb(at, 2 + n), kind[1] .. " " .. text) end
    at = at + 2 + n
  end
end

-- table_record shows the record at the end of what a tunnel carries, of version 1 or 2.
local function table_record(tvb, root, start, limit)
  if limit - start < 40 or tvb(limit - 2, 1):uint() ~= 0x5c then return end
  local flags, n, m, length = tvb(limit - 1, 1):uint(), tvb(limit - 3, 1):uint(), 0, 40
  local version = bit.rshift(flags, 4)
  if version == 2 then
    m, length = tvb(limit - 4, 1):uint(), 47
  elseif version ~= 1 then
    return
  end
  if n == 0 or n > 128 or n + m + length > limit - start then return end
  local tail = limit - length
  if tvb(tail + 14, 4):uint() >= 1000000000 or tvb(tail + 24, 4):uint() >= 1000000000 then return end
  local first = tail - m - n
  local tree = root:add(tamtam, tvb(first, limit - first), "tamtam record of tables, switch " .. tvb(tail, 4):uint())
  tree:add(record.record, tvb(first, limit - first))
  tree:add(record.bits, tvb(first, n))
  tree:add(record.switch, tvb(tail, 4))
  tree:add(record.plan, tvb(tail + 4, 4))
  add_time(tree, record.ingress, tvb, tail + 8)
  add_time(tree, record.taken, tvb, tail + 18)
  add_port(tree, record.in_port, tvb, tail + 28, "none")
  local reason = tvb(tail + 36, 1):uint()
  add_port(tree, record.out_port, tvb, tail + 30, reason == 0 and "CPU" or "none")
  tree:add(record.length, tvb(tail + 32, 4))
  tree:add(record.reason, tvb(tail + 36, 1))
  if version == 2 then
    tree:add(record.trap, tvb(tail + 37, 1))
    if tvb(tail + 38, 1):uint() ~= 255 then tree:add(record.queue, tvb(tail + 38, 1)) end
    tree:add(record.in_lane, tvb(tail + 39, 2))
    tree:add(record.out_lane, tvb(tail + 41, 2))
    if m > 0 then identities(tvb, tree:add(record.identities, tvb(tail - m, m)), tail - m, tail) end
    if bit.band(flags, 2) ~= 0 then tree:add(record.no_room, tvb(limit - 1, 1), true) end
  end
  local doubtful = bit.band(flags, 1) ~= 0
  tree:add(record.unsynchronised, tvb(limit - 1, 1), doubtful)
  if doubtful then tree:add_proto_expert_info(doubt, "clock not synchronised") end
  local clock_set = bit.band(flags, 4) ~= 0
  tree:add(record.clock_set, tvb(limit - 1, 1), clock_set)
  if clock_set then tree:add_proto_expert_info(doubt, "clock set in between") end
end

-- ifa_time is when a hop's packet came: of the instants that the 20 bits of its seconds may mean the one nearest to the capture.
local function ifa_time(pinfo, seconds)
  local now, period = math.floor(tonumber(tostring(pinfo.abs_ts))), 1048576
  local s = now - now % period + seconds
  if s - now > period / 2 then s = s - period elseif now - s > period / 2 then s = s + period end
  return s
end

local function ifa_hop(tvb, pinfo, parent, at)
  local word = function(i) return tvb(at + 4 * i, 4) end
  local item = parent:add(ifa.hop, tvb(at, 32))
  local lns = word(0):bitfield(0, 4)
  item:add(ifa.lns, word(0), lns)
  item:add(ifa.device, word(0), word(0):bitfield(4, 20))
  item:add(ifa.ttl, word(0), word(0):bitfield(24, 8))
  item:add(ifa.speed, word(1), word(1):bitfield(0, 4))
  item:add(ifa.congestion, word(1), word(1):bitfield(4, 2))
  item:add(ifa.queue, word(1), word(1):bitfield(6, 6))
  add_port(item, ifa.out_port, tvb, at + 8, "none")
  add_port(item, ifa.in_port, tvb, at + 10, "none")
  local ns, seconds = word(3):uint(), ifa_time(pinfo, word(1):bitfield(12, 20))
  if ns < 1000000000 and seconds >= 0 then
    item:add(ifa.received, tvb(at + 4, 12), NSTime.new(seconds, ns))
  else
    item:add_proto_expert_info(doubt, "no time")
  end
  local known = lns == 5
  local flags = known and word(6):bitfield(0, 16) or 2
  local no_egress, doubtful, clock_set = flags % 2 == 1, flags % 4 >= 2, flags % 8 >= 4
  if not no_egress and not clock_set and word(4):uint() ~= 4294967295 then item:add(ifa.residence, word(4)) end
  if known then
    item:add(ifa.queue_bytes, word(5))
    item:add(ifa.no_egress, tvb(at + 24, 2), no_egress)
    item:add(ifa.unsynchronised, tvb(at + 24, 2), doubtful)
    item:add(ifa.clock_set, tvb(at + 24, 2), clock_set)
    if clock_set then item:add_proto_expert_info(doubt, "clock set in between") end
  end
  if doubtful then item:add_proto_expert_info(doubt, known and "clock not synchronised" or "a layout that is not known") end
end

-- analysed shows what IFA has added to an IP packet of protocol 253: IFA header, header of TCP or UDP, metadata header, stack.
local function analysed(tvb, pinfo, root, at, limit)
  if at + 4 > limit or tvb(at, 1):bitfield(0, 4) ~= 2 then return end
  local next, flags = tvb(at + 1, 1):uint(), tvb(at + 2, 1):uint()
  if bit.band(flags, 0x19) ~= 0 then return end -- a checksum header, metadata at the tail or in fragments
  local transport, n = at + 4, 8
  if next == 6 then
    if transport + 20 > limit then return end
    n = tvb(transport + 12, 1):bitfield(0, 4) * 4
    if n < 20 then return end
  elseif next ~= 17 then
    return
  end
  local meta = transport + n
  if meta + 4 > limit then return end
  local stop = meta + 4 + 4 * tvb(meta + 3, 1):uint()
  if stop > limit then return end
  local gns = tvb(at, 1):bitfield(4, 4)
  local tree = root:add(tamtam, tvb(at, stop - at), "Inband Flow Analyzer 2.0")
  tree:add(ifa.ifa, tvb(at, stop - at))
  tree:add(ifa.gns, tvb(at, 1), gns)
  tree:add(ifa.next, tvb(at + 1, 1))
  tree:add(ifa.flags, tvb(at + 2, 1))
  tree:add(ifa.max_length, tvb(at + 3, 1))
  tree:add(ifa.request, tvb(meta, 1))
  tree:add(ifa.action, tvb(meta + 1, 1))
  tree:add(ifa.hop_limit, tvb(meta + 2, 1))
  tree:add(ifa.length, tvb(meta + 3, 1))
  if gns ~= 15 or (stop - meta - 4) % 32 ~= 0 then return end
  for hop = meta + 4, stop - 32, 32 do ifa_hop(tvb, pinfo, tree, hop) end
end

-- analysed_frame is that for the frame at base.
local function analysed_frame(tvb, pinfo, root, base, limit)
  local protocol, start, stop, fragment = ip_packet(tvb, base, limit)
  if protocol == 253 and not fragment then analysed(tvb, pinfo, root, start, stop) end
end

-- reported returns where the frame in a terminator's report begins, a record of IPFIX in template 65280; nil: it is none.
local function reported(tvb, at, limit)
  if limit - at < 42 or tvb(at, 2):uint() ~= 10 or tvb(at + 2, 2):uint() ~= limit - at then return nil end
  if tvb(at + 16, 2):uint() ~= 65280 or tvb(at + 18, 2):uint() ~= limit - at - 16 then return nil end
  local data = at + 20 -- time, status, interfaces, length of the frame, then the section
  if tvb(data + 8, 1):uint() ~= 64 or tvb(data + 19, 1):uint() ~= 255 or tvb(data + 20, 2):uint() ~= limit - data - 22 then return nil end
  return data + 22
end

-- erspan returns where the mirrored frame begins in GRE; nil: it is no ERSPAN.
local function erspan(tvb, at, limit)
  if at + 4 > limit then return nil end
  local flags, protocol = tvb(at, 2):uint(), tvb(at + 2, 2):uint()
  if bit.band(flags, 7) ~= 0 or protocol ~= 0x88be and protocol ~= 0x22eb then return nil end
  at = at + 4
  for _, flag in ipairs({0x8000, 0x2000, 0x1000}) do
    if bit.band(flags, flag) ~= 0 then at = at + 4 end
  end
  if protocol == 0x22eb then
    at = at + 12
    if at > limit then return nil end
    if bit.band(tvb(at - 1, 1):uint(), 1) ~= 0 then at = at + 8 end
  elseif bit.band(flags, 0x1000) ~= 0 then
    at = at + 8
  end
  if at > limit then return nil end
  return at
end

local templates = {}
function tamtam.init() templates = {} end

local function read_templates(tvb, at, limit, key, options)
  while at + 4 <= limit do
    local id, count = tvb(at, 2):uint(), tvb(at + 2, 2):uint()
    at = at + (options and 6 or 4)
    local t = {}
    for i = 1, count do
      if at + 4 > limit then return end
      local number, length = tvb(at, 2):uint(), tvb(at + 2, 2):uint()
      at = at + 4
      local pen = 0
      if number >= 0x8000 then
        if at + 4 > limit then return end
        number, pen = number - 0x8000, tvb(at, 4):uint()
        at = at + 4
      end
      t[i] = {number = number, length = length, pen = pen}
    end
    templates[key .. id] = t
  end
end

-- read_record shows the own elements of a record, and returns where the next begins; nil: there is none.
local function read_record(tvb, tree, at, limit, t)
  for _, f in ipairs(t) do
    local length = f.length
    if length == 65535 then
      if at + 1 > limit then return nil end
      length = tvb(at, 1):uint()
      at = at + 1
      if length == 255 then
        if at + 2 > limit then return nil end
        length = tvb(at, 2):uint()
        at = at + 2
      end
    end
    if at + length > limit then return nil end
    local e = f.pen == tamtam.prefs.enterprise and own[f.number]
    if e and e[2] == "s" then
      tree:add(element[f.number], tvb(at, length), length > 0 and tvb(at, length):string(ENC_UTF_8) or "")
    elseif e and e[2] == "b" then
      tree:add(element[f.number], tvb(at, length), tvb(at, 1):uint() == 1)
    elseif e and length >= 1 and length <= 8 then
      local value = e[2] == "i" and tvb(at, length):int64() or tvb(at, length):uint64()
      tree:add(element[f.number], tvb(at, length), value)
    end
    at = at + length
  end
  return at
end

local function has_own(t)
  for _, f in ipairs(t) do
    if f.pen == tamtam.prefs.enterprise and own[f.number] then return true end
  end
  return false
end

-- ipfix reads a message from a source. That of pinfo is not it: Wireshark shows the frame in a record, and has its addresses there.
local function ipfix(tvb, source, root, at, limit)
  if limit - at < 16 or tvb(at, 2):uint() ~= 10 or tvb(at + 2, 2):uint() ~= limit - at then return end
  local key = source .. "/" .. tvb(at + 12, 4):uint() .. "/"
  at = at + 16
  while at + 4 <= limit do
    local id, length = tvb(at, 2):uint(), tvb(at + 2, 2):uint()
    if length < 4 or at + length > limit then return end
    local t = templates[key .. id]
    if id == 2 or id == 3 then
      read_templates(tvb, at + 4, at + length, key, id == 3)
    elseif t and has_own(t) then
      local next = at + 4
      while next and next < at + length do
        local start = next
        local tree = root:add(tamtam, tvb(start, 1), "tamtam IPFIX record, template " .. id)
        next = read_record(tvb, tree, start, at + length, t)
        if next == start then next = nil end
        if next then tree:set_len(next - start) end
      end
    end
    at = at + length
  end
end

function tamtam.dissector(tvb, pinfo, root)
  local limit = tvb:len()
  if tvb:reported_len() ~= limit then return end -- the end, where stamps are, is cut off
  local protocol, start, stop, fragment, source = ip_packet(tvb, 0, limit)
  if not protocol then return end
  stamps(tvb, root, stop, limit)
  if fragment then return end
  if protocol == 17 and stop - start >= 8 and tvb(start + 4, 2):uint() == stop - start then
    table_record(tvb, root, start + 8, stop)
    ipfix(tvb, source .. ":" .. tvb(start, 2):uint(), root, start + 8, stop)
    local frame = reported(tvb, start + 8, stop)
    if frame then analysed_frame(tvb, pinfo, root, frame, stop) end
  elseif protocol == 253 then
    analysed(tvb, pinfo, root, start, stop)
  elseif protocol == 47 then
    local inner = erspan(tvb, start, stop)
    if not inner then return end
    local _, _, inner_stop = ip_packet(tvb, inner, stop)
    if inner_stop then stamps(tvb, root, inner_stop, stop) end
    table_record(tvb, root, inner, stop)
    analysed_frame(tvb, pinfo, root, inner, stop)
  end
end

register_postdissector(tamtam)
