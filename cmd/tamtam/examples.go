package main

// examples returns the Examples section of each command: command lines, and comments before them. A test parses each
// line.
func examples() map[string]string {
	const clock, lose, sai = "tamtam fault clock", "tamtam fault notifications", "tamtam fault sai"
	return map[string]string{
		"tamtam": `# a switch, and its shell in another terminal
tamtam up --config config_db.json
tamtam cli
# what is wrong with the switch, and what to do
tamtam doctor`,
		"tamtam up": `tamtam up --config config_db.json
# Ethernet0 is eth1 of this machine; the configuration is kept
tamtam up --config config_db.json --port Ethernet0=eth1 --keep
# another switch on the same machine
tamtam up --data /tmp/s2 --gnmi localhost:8082
# with a page for browsers
tamtam up --http localhost:8081`,
		"tamtam cli": `tamtam cli
tamtam cli -c "show interface status" -c "show alarms"
tamtam cli -c "show interface counters | json"
tamtam cli --every 2s -c "show interface counters Ethernet0"
tamtam cli --file script.cli
tamtam cli --target switch1:8080 --tls-ca ca.pem --user admin --password secret`,
		"tamtam subscribe": `tamtam subscribe /interfaces/interface[name=Ethernet0]/state/oper-status
tamtam subscribe --count 5 /tam/tailstamping-sessions`,
		"tamtam run": `# a switch as single processes, on one Redis
redis-server --notify-keyspace-events KEA
tamtam run syncd
tamtam run orchagent
tamtam run tammgrd
tamtam run mgmtd`,
		"tamtam run tammgrd":   `tamtam run tammgrd --redis 127.0.0.1:6379`,
		"tamtam run orchagent": `tamtam run orchagent --redis 127.0.0.1:6379`,
		"tamtam run syncd": `tamtam run syncd --cpu-port /run/tamtam/cpu.sock
tamtam run syncd --port Ethernet0=eth1 --port Ethernet4=eth2`,
		"tamtam run mgmtd": `tamtam run mgmtd
tamtam run mgmtd --gnmi :8080 --users /etc/tamtam/users`,
		"tamtam run hostd":    `tamtam run hostd --cpu-port /run/tamtam/cpu.sock`,
		"tamtam run hostifd":  `tamtam run hostifd --cpu-port /run/tamtam/cpu.sock`,
		"tamtam run sflowd":   `tamtam run sflowd --sample-port /run/tamtam/samples.sock`,
		"tamtam run fpmsyncd": `tamtam run fpmsyncd --listen 127.0.0.1:2620`,
		"tamtam run redis":    `tamtam run redis --dir /var/lib/redis -- --port 6380`,
		"tamtam run ports":    `tamtam run ports`,
		"tamtam collect": `tamtam collect --paths paths.yaml
tamtam collect --topology leafspine.clab.yml --format json`,
		"tamtam collect graphs":    `tamtam collect graphs --topology leafspine.clab.yml`,
		"tamtam collect topology":  `tamtam collect topology leafspine.clab.yml`,
		"tamtam collect tailstamp": `tamtam collect tailstamp eth1 --every 10s`,
		"tamtam collect ifa":       `tamtam collect ifa eth1 --every 10s`,
		"tamtam collect ipfix":     `tamtam collect ipfix --listen :4739 --format json`,
		"tamtam collect record":    `tamtam collect record --plan plan.json --interval 10s`,
		"tamtam collect hft": `tamtam collect hft --listen :4739 --redis switch1:6379
tamtam collect hft --unix /run/tamtam/hft.sock --format json --count 1000
# every value as a line, from a file with messages of IPFIX or a capture
tamtam collect hft --read stream.ipfix --format csv`,
		"tamtam collect sflow": `tamtam collect sflow --listen :6343
tamtam collect sflow --read sflow.pcap`,
		"tamtam p4": `# is the program supported, and what does it have
tamtam p4 check router.json
# captures through it
tamtam p4 run router.json --entries router.txt --in 0=a.pcap --out results`,
		"tamtam p4 check": `tamtam p4 check router.json
tamtam p4 check router.json --format json`,
		"tamtam p4 run": `tamtam p4 run router.json --entries router.txt --in 0=a.pcap --in 1=b.pcap --out results
# every step of every packet
tamtam p4 run router.json --entries router.txt --in 0=a.pcap --out results --trace steps.json`,
		"tamtam p4 test": `tamtam p4 test router.json router.stf`,
		"tamtam sim": `tamtam sim --config config_db.json --in Ethernet0=a.pcap --out results
tamtam sim --config config_db.json --in Ethernet0=a.pcap --out results --ask "show drops"`,
		"tamtam lab": `tamtam lab list
tamtam lab run leaf-spine`,
		"tamtam lab list": `tamtam lab list`,
		"tamtam lab run": `tamtam lab run leaf-spine --out results
tamtam lab run topology.yaml --duration 1s --seed 7`,
		"tamtam lab serve":           `tamtam lab serve leaf-spine --http localhost:8090`,
		"tamtam lab sweep":           `tamtam lab sweep sweep.yaml --out results`,
		"tamtam decode":              `tamtam decode tailstamp capture.pcap`,
		"tamtam decode tailstamp":    `tamtam decode tailstamp capture.pcap --format json`,
		"tamtam decode ifa":          `tamtam decode ifa capture.pcap --packets`,
		"tamtam decode record":       `tamtam decode record capture.pcap --plan plan.json`,
		"tamtam decode sflow":        `tamtam decode sflow capture.pcap --port 6343`,
		"tamtam decode path-tracing": `tamtam decode path-tracing capture.pcap --names interfaces.json`,
		"tamtam plan": `tamtam plan --program router.json --phv 16+16
tamtam plan --program router.json --phv 16+16 --algorithm bnb --format json`,
		"tamtam plan into": `tamtam plan into program.json --plan plan.json`,
		"tamtam bench": `tamtam bench asic --duration 5s
tamtam bench config --changes 100 --format json`,
		"tamtam demo": `tamtam demo
tamtam demo --out captures --http localhost:8090`,
		"tamtam config":      `tamtam config save config_db.json`,
		"tamtam config load": `tamtam config load config_db.json --redis 127.0.0.1:6379`,
		"tamtam config save": `tamtam config save
tamtam config save config_db.json`,
		"tamtam flush":          `tamtam flush --redis 127.0.0.1:6379`,
		"tamtam profile":        `tamtam profile list`,
		"tamtam profile list":   `tamtam profile list`,
		"tamtam profile show":   `tamtam profile show default`,
		"tamtam profile check":  `tamtam profile check mine.json`,
		"tamtam profile graph":  `tamtam profile graph default`,
		"tamtam profile stored": `tamtam profile stored default`,
		"tamtam health": `tamtam health
tamtam health orchagent --live`,
		"tamtam fault": `# the switch was started with --allow-faults
tamtam fault sai fail --op create --type acl-entry --count 1
tamtam fault list
tamtam fault clear`,
		"tamtam fault list":   `tamtam fault list --json`,
		"tamtam fault clear":  `tamtam fault clear`,
		clock:                 clock + ` step +1ms --for 30s`,
		clock + " step":       clock + ` step -1ms --for 10s`,
		lose:                  lose + ` lose --for 10s`,
		lose + " lose":        lose + ` lose --of port_state_change --count 1`,
		lose + " double":      lose + ` double --of fdb_event --count 1`,
		"tamtam fault redis":  `tamtam fault redis pause --for 5s`,
		faultRedis + " pause": faultRedis + ` pause --for 5s`,
		faultRedis + " slow":  faultRedis + ` slow 50ms --for 10s`,
		faultRedis + " full":  faultRedis + ` full --for 10s`,
		faultRedis + " empty": faultRedis + ` empty APPL_DB`,
		sai:                   sai + ` delay 100ms --for 10s`,
		sai + " fail":         sai + ` fail --op create --type acl-entry --status INSUFFICIENT_RESOURCES`,
		sai + " delay":        sai + ` delay 100ms --op set --every 10`,
		"tamtam trace":        `tamtam trace Ethernet0 src 10.0.0.1 dst 10.0.1.1 protocol tcp dst-port 80`,
		"tamtam path":         `tamtam path --topology leafspine.clab.yml leaf1.pcap spine1.pcap leaf2.pcap`,
		"tamtam doctor": `tamtam doctor
# a switch whose Redis is its own process, or on another machine
tamtam doctor --redis 10.0.0.5:6379 --gnmi 10.0.0.5:8080`,
		"tamtam techsupport": `tamtam techsupport --output support.tar.gz`,
		"tamtam version":     `tamtam version`,
		"tamtam users": `tamtam users set alice --users users --role operator
tamtam up --users users`,
		"tamtam users set":    `tamtam users set alice --users users --role read-only`,
		"tamtam users remove": `tamtam users remove alice --users users`,
		"tamtam users list":   `tamtam users list --users users`,
		"tamtam collectd":     `tamtam collectd run --help`,
	}
}

const faultRedis = "tamtam fault redis"
