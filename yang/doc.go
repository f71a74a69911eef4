// Package yang holds the YANG modules that the northbound serves, and in
// tamyang the Go that ygot generates from them. Only modules enter here: the
// text of each is the project's own, also where the name is OpenConfig's and
// the module is the part of it that the switch has. What a node is in the
// databases is said in package mgmt, one table per module.
//
// After a change of a module run go generate ./yang.
package yang

//go:generate go run -trimpath github.com/openconfig/ygot/generator -path=. -output_file=tamyang/zz_generated.go -package_name=tamyang -generate_fakeroot -fakeroot_name=device -compress_paths=false -shorten_enum_leaf_names -typedef_enum_with_defmod -generate_simple_unions -include_model_data -include_descriptions=false -logtostderr tamtam-deviations.yang tamtam-status.yang openconfig-acl.yang openconfig-interfaces.yang openconfig-tam.yang tamtam-interfaces.yang tamtam-routing.yang tamtam-qos.yang tamtam-altmark.yang tamtam-flymon.yang tamtam-tablerecord.yang
//go:generate gofmt -w tamyang/zz_generated.go
