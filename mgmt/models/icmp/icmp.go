// Package icmp maps OpenConfig's names for the types and codes of ICMP messages to the numbers in SONiC's ACL rules.
//
// What belongs here: these names, by version of IP. The entries of access lists do not.
package icmp

import (
	"fmt"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
)

// A Version is a version of ICMP in rules.
type Version struct {
	// Path is the container of type and code in an entry of an access list.
	Path string
	// TypeField and CodeField are the fields of a rule.
	TypeField, CodeField string

	types []string // OpenConfig's types, each with its number
	codes []string // OpenConfig's codes, each with the numbers of type and code
}

// V4 returns the version for IPv4.
func V4() Version { return Version{"ipv4/icmpv4", "ICMP_TYPE", "ICMP_CODE", types4, codes4} }

// V6 returns the version for IPv6.
func V6() Version { return Version{"ipv6/icmpv6", "ICMPV6_TYPE", "ICMPV6_CODE", types6, codes6} }

// types4 maps OpenConfig's types of messages to their numbers.
var types4 = []string{
	"ECHO_REPLY", "0", "DST_UNREACHABLE", "3", "REDIRECT", "5", "ECHO", "8", "ROUTER_ADVERTISEMENT", "9",
	"ROUTER_SOLICITATION", "10", "TIME_EXCEEDED", "11", "PARAM_PROBLEM", "12", "TIMESTAMP", "13", "TIMESTAMP_REPLY", "14",
	"TRACEROUTE", "30", "PHOTURIS", "40", "EXT_ECHO_REQUEST", "42", "EXT_ECHO_REPLY", "43",
}

// codes4 maps OpenConfig's codes to the numbers of type and code.
var codes4 = []string{
	"ECHO_REPLY_NONE", "0 0",
	"DST_UNREACHABLE_NET", "3 0", "DST_UNREACHABLE_HOST", "3 1", "DST_UNREACHABLE_PROTOCOL", "3 2",
	"DST_UNREACHABLE_PORT", "3 3", "DST_UNREACHABLE_CANNOT_FRAGMENT", "3 4", "DST_UNREACHABLE_SRC_ROUTE_FAILED", "3 5",
	"DST_UNREACHABLE_DST_NET_UNKNOWN", "3 6", "DST_UNREACHABLE_DST_HOST_UNKNOWN", "3 7",
	"DST_UNREACHABLE_SRC_HOST_ISOLATED", "3 8", "DST_UNREACHABLE_DST_NET_ADMIN_PROHIBITED", "3 9",
	"DST_UNREACHABLE_DST_HOST_ADMIN_PROHIBITED", "3 10", "DST_UNREACHABLE_NET_UNREACHABLE_FOR_TOS", "3 11",
	"DST_UNREACHABLE_HOST_UNREACHABLE_FOR_TOS", "3 12", "DST_UNREACHABLE_ADMIN_PROHIBITED", "3 13",
	"DST_UNREACHABLE_HOST_PRECEDENCE_VIOLATION", "3 14", "DST_UNREACHABLE_PRECEDENCE_CUTOFF", "3 15",
	"REDIRECT_NETWORK", "5 0", "REDIRECT_HOST", "5 1", "REDIRECT_TOS_NETWORK", "5 2", "REDIRECT_TOS_HOST", "5 3",
	"ECHO_NO_CODE", "8 0",
	"ROUTER_ADVERTISEMENT_NORMAL", "9 0", "ROUTER_ADVERTISEMENT_DOES_NOT_ROUTE_COMMON", "9 16",
	"ROUTER_SELECTION_NO_CODE", "10 0",
	"TIME_EXCEEDED_IN_TRANSIT", "11 0", "TIME_EXCEEDED_FRAGMENT_REASSEMBLY_IN_TRANSIT", "11 1",
	"PARAM_PROBLEM_POINTER_INDICATES_ERR", "12 0", "PARAM_PROBLEM_MISSING_REQ_OPTION", "12 1",
	"PARAM_PROBLEM_BAD_LENGTH", "12 2",
	"TIMESTAMP_NO_CODE", "13 0", "TIMESTAMP_REPLY_NO_CODE", "14 0",
	"PHOTURIS_BAD_SPI", "40 0", "PHOTURIS_AUTH_FAILED", "40 1", "PHOTURIS_DECOMPRESS_FAILED", "40 2",
	"PHOTURIS_DECRYPTION_FAILED", "40 3", "PHOTURIS_NEED_AUTHENTICATION", "40 4", "PHOTURIS_NEED_AUTHORIZATION", "40 5",
	"EXT_ECHO_REQUEST_NO_ERROR", "42 0",
	"EXT_ECHO_REPLY_NO_ERROR", "43 0", "EXT_ECHO_REPLY_MALFORMED_QUERY", "43 1", "EXT_ECHO_REPLY_NO_SUCH_INTF", "43 2",
	"EXT_ECHO_REPLY_NO_SUB_TABLE_ENTRY", "43 3", "EXT_ECHO_REPLY_MULTIPLE_INTF_SATISFY_QUERY", "43 4",
}

// types6 and codes6 are the same for ICMPv6.
var types6 = []string{
	"DESTINATION_UNREACHABLE", "1", "PACKET_TOO_BIG", "2", "TIME_EXCEEDED", "3", "PARAMETER_PROBLEM", "4",
	"ECHO_REQUEST", "128", "ECHO_REPLY", "129", "MULTICAST_LISTENER_QUERY", "130", "MULTICAST_LISTENER_REPORT", "131",
	"MULTICAST_LISTENER_DONE", "132", "ROUTER_SOLICITATION", "133", "ROUTER_ADVERTISEMENT", "134",
	"NEIGHBOR_SOLICITATION", "135", "NEIGHBOR_ADVERTISEMENT", "136", "REDIRECT", "137", "RENUNBERING", "138",
	"NODE_INFORMATION_QUERY", "139", "NODE_INFORMATION_RESPONSE", "140", "INVERSE_NEIGHBOR_SOLICITATION", "141",
	"INVERSE_NEIGHBOR_ADVERTISEMENT", "142", "VERSION2_MULTICAST_LISTENER", "143",
	"HOME_AGENT_ADDRESS_DISCOVERY_REQUEST", "144", "HOME_AGENT_ADDRESS_DISCOVERY_REPLY", "145",
	"MOBILE_PREFIX_SOLICITATION", "146", "MOBILE_PREFIX_ADVERTISEMENT", "147", "CERTIFICATION_PATH_SOLICITATION", "148",
	"CERTIFICATION_PATH_ADVERTISEMENT", "149", "MULTICAST_ROUTER_ADVERTISEMENT", "151",
	"MULTICAST_ROUTER_SOLICITATION", "152", "MULTICAST_ROUTER_TERMINATION", "153", "FMIPV6", "154", "RPL_CONTROL", "155",
	"ILNPV6_LOCATOR_UPDATE", "156", "DUPLICATE_ADDRESS_REQUEST", "157", "DUPLICATE_ADDRESS_CONFIRMATION", "158",
	"MPL_CONTROL", "159", "EXT_ECHO_REQUEST", "160", "EXT_ECHO_REPLY", "161",
}

var codes6 = []string{
	"DST_UNREACHABLE_NO_ROUTE_TO_DST", "1 0", "DST_UNREACHABLE_DST_ADMIN_PROHIBITED", "1 1",
	"DST_UNREACHABLE_BEYOND_SCOPE_OF_SRC", "1 2", "DST_UNREACHABLE_ADDR", "1 3", "DST_UNREACHABLE_PORT", "1 4",
	"DST_UNREACHABLE_SRC_ADDR_FAILED_POLICY", "1 5", "DST_UNREACHABLE_REJECT_ROUTE_TO_DST", "1 6",
	"DST_UNREACHABLE_ERR_IN_SRC_ROUTING_HDR", "1 7", "DST_UNREACHABLE_HDRS_TOO_LONG", "1 8",
	"PACKET_TOO_BIG_NO_CODE", "2 0", "TIME_EXCEEDED_HOP_LIMIT", "3 0", "TIME_EXCEEDED_FRAGMENT_REASSEMBLY", "3 1",
	"PARAM_PROBLEM_ERR_HDR_FIELD", "4 0", "PARAM_PROBLEM_UNRECOGNIZED_NET_HDR_TYPE", "4 1",
	"PARAM_PROBLEM_UNRECOGNIZED_IPV6_OPT", "4 2", "PARAM_PROBLEM_INCOMPLETE_HDR_CHAIN", "4 3",
	"PARAM_PROBLEM_SR_UPPER_HDR_ERR", "4 4", "PARAM_PROBLEM_UNRECOGNIZED_NEXT_HDR_TYPE", "4 5",
	"PARAM_PROBLEM_EXT_HDR_TOO_BIG", "4 6", "PARAM_PROBLEM_EXT_HDR_CHAIN_TOO_LONG", "4 7",
	"PARAM_PROBLEM_TOO_MANY_EXT_HDRS", "4 8", "PARAM_PROBLEM_TOO_MANY_OPTS", "4 9", "PARAM_PROBLEM_OPT_TOO_BIG", "4 10",
	"ECHO_REQUEST_NO_CODE", "128 0", "ECHO_REPLY_NO_CODE", "129 0", "MULTICAST_LISTENER_QUERY_NO_CODE", "130 0",
	"MULTICAST_LISTENER_REPORT_NO_CODE", "131 0", "MULTICAST_LISTENER_DONE_NO_CODE", "132 0",
	"ROUTER_SOLICITATION_NO_CODE", "133 0", "ROUTER_ADVERTISEMENT_NO_CODE", "134 0",
	"NEIGHBOR_SOLICITATION_NO_CODE", "135 0", "NEIGHBOR_ADVERTISEMENT_NO_CODE", "136 0", "REDIRECT_NO_CODE", "137 0",
	"RENUMBERING_COMMAND", "138 0", "RENUNBERING_RESULT", "138 1", "RENUNBERING_SEQ_NUM_RESET", "138 255",
	"NODE_INFORMATION_QUERY_IPV6_ADDR", "139 0", "NODE_INFORMATION_QUERY_NAME", "139 1",
	"NODE_INFORMATION_QUERY_IPV4_ADDR", "139 2", "NODE_INFORMATION_RESPONSE_SUCCESS", "140 0",
	"NODE_INFORMATION_RESPONSE_REFUSED", "140 1", "NODE_INFORMATION_RESPONSE_UNKNOWN", "140 2",
	"INVERSE_NEIGHBOR_SOLICITATION_NO_CODE", "141 0", "INVERSE_NEIGHBOR_ADVERTISEMENT_NO_CODE", "142 0",
	"HOME_AGENT_ADDRESS_DISCOVERY_REQUEST_NO_CODE", "144 0", "HOME_AGENT_ADDRESS_DISCOVERY_REPLY_NO_CODE", "145 0",
	"MOBILE_PREFIX_SOLICITATION_NO_CODE", "146 0", "MOBILE_PREFIX_ADVERTISEMENT_NO_CODE", "147 0",
	"DUPLICATE_ADDRESS_REQUEST_DAR", "157 0", "DUPLICATE_ADDRESS_REQUEST_EDAR_ROVR64", "157 1",
	"DUPLICATE_ADDRESS_REQUEST_EDAR_ROVR128", "157 2", "DUPLICATE_ADDRESS_REQUEST_EDAR_ROVR192", "157 3",
	"DUPLICATE_ADDRESS_REQUEST_EDAR_ROVR256", "157 4", "DUPLICATE_ADDRESS_REPLY_DAC", "158 0",
	"DUPLICATE_ADDRESS_REPLY_EDAC_ROVR64", "158 1", "DUPLICATE_ADDRESS_REPLY_EDAC_ROVR128", "158 2",
	"DUPLICATE_ADDRESS_REPLY_EDAC_ROVR192", "158 3", "DUPLICATE_ADDRESS_REPLY_EDAC_ROVR256", "158 4",
	"EXT_ECHO_REQUEST_NO_ERROR", "160 0", "EXT_ECHO_REPLY_NO_ERROR", "161 0", "EXT_ECHO_REPLY_MALFORMED_QUERY", "161 1",
	"EXT_ECHO_REPLY_NO_SUCH_INTERFACE", "161 2", "EXT_ECHO_REPLY_NO_SUCH_TABLE_ENTRY", "161 3",
	"EXT_ECHO_REPLY_MULTIPLE_INTF_SATISFY_QUERY", "161 4",
}

// paired returns the element beside a text in pairs, or "". from is the place of the text in its pair, 0 or 1.
func paired(pairs []string, from int, text string) string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+from] == text {
			return pairs[i+1-from]
		}
	}
	return ""
}

// Type returns the codec of the type of messages. Types without a name of OpenConfig's have no value.
func (v Version) Type() tree.Codec {
	is := kit.Number(v.TypeField, "%d")
	return tree.Codec{
		Get: func(r tree.Record) []string { return tree.One(paired(v.types, 1, tree.First(is.Get(r)))) },
		Put: func(r tree.Record, want []string) error {
			r.Set(v.TypeField, paired(v.types, 0, tree.First(want)))
			return nil
		},
	}
}

// Code returns the codec of the code of messages, which has a name of OpenConfig's together with the type.
func (v Version) Code() tree.Codec {
	kind, code := kit.Number(v.TypeField, "%d"), kit.Number(v.CodeField, "%d")
	return tree.Codec{
		Get: func(r tree.Record) []string {
			return tree.One(paired(v.codes, 1, tree.First(kind.Get(r))+" "+tree.First(code.Get(r))))
		},
		Put: func(r tree.Record, want []string) error {
			_, number, is := strings.Cut(paired(v.codes, 0, tree.First(want)), " ")
			if len(want) > 0 && !is {
				return fmt.Errorf("%s: want a code, such as DST_UNREACHABLE_PORT", want[0])
			}
			r.Set(v.CodeField, number)
			return nil
		},
	}
}

// Check checks that the code of a rule, if any, is one of its type.
func (v Version) Check(r tree.Record, path string) error {
	if r.Field(v.CodeField) != "" && len(v.Code().Get(r)) == 0 {
		return fmt.Errorf("%s/%s/config/code: want the type of which it is a code, too", path, v.Path)
	}
	return nil
}
