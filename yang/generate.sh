#!/usr/bin/env bash
# Generates tamyang from the modules of this folder: go generate ./yang. Usage: generate.sh [OUTPUT]
set -euo pipefail
output=${1:-tamyang/zz_generated.go}
options=(
	-path=.
	-output_file="$output"
	-package_name=tamyang
	-generate_fakeroot
	-fakeroot_name=device
	-compress_paths=false
	-shorten_enum_leaf_names
	-typedef_enum_with_defmod
	-generate_simple_unions
	-include_model_data
	-include_descriptions=false
	-logtostderr
)
modules=(
	tamtam-status
	iana-if-type
	openconfig-acl
	openconfig-if-aggregate
	openconfig-if-ethernet
	openconfig-if-ip
	openconfig-if-rates
	openconfig-if-sdn-ext
	openconfig-interfaces
	openconfig-lacp
	openconfig-lldp
	openconfig-aft-network-instance
	openconfig-aft-summary
	openconfig-network-instance
	openconfig-p4rt
	openconfig-platform
	openconfig-platform-pipeline-counters
	openconfig-platform-port
	openconfig-platform-transceiver
	openconfig-qos
	openconfig-sampling-sflow
	openconfig-system
	openconfig-system-utilization
	openconfig-tam
	openconfig-vlan
	# All of tamtam's own, but those of which no node comes.
	$(ls tamtam-*.yang | grep -vE '^tamtam-(status|deviations|losses|restconf|types)\.yang$' | sed 's/\.yang$//')
)
# Without -trimpath, for which all packages would be compiled once more.
go run github.com/openconfig/ygot/generator "${options[@]}" "${modules[@]/%/.yang}"
go run ../internal/steady "$output"
gofmt -w "$output"
