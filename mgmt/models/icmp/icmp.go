package models

import (
	"fmt"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
)

// Fields of a rule that match ICMP.
const (
	icmpTypeField = "ICMP_TYPE"
	icmpCodeField = "ICMP_CODE"
)

// icmpTypes maps OpenConfig's types of ICMP messages to their numbers.
var icmpTypes = []string{
	"ECHO_REPLY", "0", "DST_UNREACHABLE", "3", "REDIRECT", "5", "ECHO", "8", "ROUTER_ADVERTISEMENT", "9",
	"ROUTER_SOLICITATION", "10", "TIME_EXCEEDED", "11", "PARAM_PROBLEM", "12", "TIMESTAMP", "13", "TIMESTAMP_REPLY", "14",
	"TRACEROUTE", "30", "PHOTURIS", "40", "EXT_ECHO_REQUEST", "42", "EXT_ECHO_REPLY", "43",
}

// icmpCodes maps OpenConfig's codes to the numbers of type and code.
var icmpCodes = []string{
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

// paired returns the element beside a text in pairs, or "". from is the place of the text in its pair, 0 or 1.
func paired(pairs []string, from int, text string) string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+from] == text {
			return pairs[i+1-from]
		}
	}
	return ""
}

// icmpType returns the codec of the type of ICMP messages. Types without a name of OpenConfig's have no value.
func icmpType() tree.Codec {
	is := kit.Number(icmpTypeField, "%d")
	return tree.Codec{
		Get: func(r tree.Record) []string { return tree.One(paired(icmpTypes, 1, tree.First(is.Get(r)))) },
		Put: func(r tree.Record, v []string) error {
			r.Set(icmpTypeField, paired(icmpTypes, 0, tree.First(v)))
			return nil
		},
	}
}

// icmpCode returns the codec of the code of ICMP messages, which has a name of OpenConfig's together with the type.
func icmpCode() tree.Codec {
	kind, code := kit.Number(icmpTypeField, "%d"), kit.Number(icmpCodeField, "%d")
	return tree.Codec{
		Get: func(r tree.Record) []string {
			return tree.One(paired(icmpCodes, 1, tree.First(kind.Get(r))+" "+tree.First(code.Get(r))))
		},
		Put: func(r tree.Record, v []string) error {
			_, number, is := strings.Cut(paired(icmpCodes, 0, tree.First(v)), " ")
			if len(v) > 0 && !is {
				return fmt.Errorf("%s: want a code, such as DST_UNREACHABLE_PORT", v[0])
			}
			r.Set(icmpCodeField, number)
			return nil
		},
	}
}
