package device_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/mgmt"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// libyang accepts the whole tree of a switch with a row in every table. It checks mandatory leaves, references and
// types of the YANG modules. TAMTAM_TREE=FILE keeps the tree, which internal/models checks against OpenConfig's own
// modules.
func TestServedTreeIsValid(t *testing.T) {
	lint, err := exec.LookPath("yanglint")
	keep := os.Getenv("TAMTAM_TREE")
	if err != nil && keep == "" {
		t.Skip("yanglint is not installed; it is in Debian's libyang2-tools")
	}
	config := devicetest.FullSwitch(t, 2)
	config[schema.CfgACLTable]["OC4"] = swss.FieldValues{"TYPE": "L3", "PORTS": "Ethernet0"}
	config[schema.CfgACLTable]["OC6"] = swss.FieldValues{"TYPE": "L3V6", "PORTS": "Ethernet0"}
	config[schema.CfgACLRule]["OC4|RULE_10"] = swss.FieldValues{"PRIORITY": "20", "SRC_IP": "10.0.0.0/8",
		"IP_PROTOCOL": "6",
		"TCP_FLAGS":   "0x12/0x12", "L4_DST_PORT_RANGE": "80-90", "PACKET_ACTION": "DROP"}
	config[schema.CfgACLRule]["OC4|RULE_11"] = swss.FieldValues{"PRIORITY": "19", "IP_PROTOCOL": "1", "ICMP_TYPE": "3",
		"ICMP_CODE": "1", "PACKET_ACTION": "DROP"}
	config[schema.CfgACLRule]["OC6|RULE_1"] = swss.FieldValues{"PRIORITY": "10", "SRC_IPV6": "2001:db8::/32", "DSCP": "46",
		"NEXT_HEADER": "17", "PACKET_ACTION": "FORWARD"}
	config[schema.CfgACLRule]["OC6|RULE_2"] = swss.FieldValues{"PRIORITY": "9", "ICMPV6_TYPE": "1", "ICMPV6_CODE": "4",
		"PACKET_ACTION": "DROP"}
	s := devicetest.NewSim(t, device.SimConfig{Profile: profile.Default(), Config: config})
	devicetest.RunUntilIdle(t, s)
	// No neighbour speaks LACP here.
	for key, row := range map[string][]any{
		schema.StateLACP + "|PortChannel1": {"runner.fast_rate", "true", "runner.fallback", "false",
			"team_device.ifinfo.dev_addr", "02:00:00:00:00:01"},
		schema.StateLACPMember + "|PortChannel1|Ethernet0": {"runner.actor_lacpdu_info.state", "61",
			"runner.actor_lacpdu_info.system", "02:00:00:00:00:01", "runner.partner_lacpdu_info.system", "02:00:00:00:00:02"},
	} {
		devicetest.NoError(t, s.Redis.DB(swss.StateDB).Client().HSet(t.Context(), key, row...).Err())
	}
	server, err := mgmt.NewServer(mgmt.Config{
		Redis: s.Redis, Socket: filepath.Join(t.TempDir(), "m"), Dir: t.TempDir(), Host: device.Machine("v1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	resp, err := server.Get(t.Context(), &gpb.GetRequest{Path: []*gpb.Path{{}}, Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tree.json")
	if keep != "" {
		file = keep
	}
	tree := resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal()
	devicetest.NoError(t, os.WriteFile(file, tree, 0o600))
	if lint == "" {
		t.Skip("the tree is kept; yanglint, of Debian's libyang2-tools, is not installed to judge it")
	}
	modules, err := filepath.Glob("../yang/*.yang")
	if err != nil || len(modules) == 0 {
		t.Fatal(modules, err)
	}
	args := []string{"-p", "../yang", "-t", "data"}
	for _, m := range modules {
		if !strings.Contains(m, "tamtam-deviations") { // the deviations come with OpenConfig's complete modules
			args = append(args, m)
		}
	}
	if out, err := exec.Command(lint, append(args, file)...).CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
