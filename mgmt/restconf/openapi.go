package restconf

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tamtam/mgmt/tree"

	goyang "github.com/openconfig/goyang/pkg/yang"
)

// object is a JSON object.
type object = map[string]any

// openAPIs is the place of the descriptions of the modules.
const openAPIs = "/openapi/"

// openAPI serves the description of a module's resources, or the index for the module "".
func (s *Server) openAPI(w http.ResponseWriter, r *http.Request, module string) *problem {
	if p := onlyRead(w, r); p != nil {
		return p
	}
	if p := acceptable(r, plainJSON, "application/vnd.oai.openapi+json"); p != nil {
		return p
	}
	if all := describedModules(s.root); module != "" && !slices.Contains(all, module) {
		return missing("%s%s%s.json: there is one of %s", root, openAPIs, shown(module), strings.Join(all, ", "))
	}
	body, err := OpenAPI(s.root, module)
	if err != nil {
		return explain(s.root, err)
	}
	w.Header().Set("Content-Type", plainJSON)
	_, _ = w.Write(body)
	return nil
}

// describedModules returns the modules that have containers or lists in a tree, sorted.
func describedModules(tree *tree.Node) (list []string) {
	for _, k := range tree.Kids {
		if k.Type == nil {
			list = append(append(list, k.Module), describedModules(k)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// OpenAPI returns a description of the data resources of a module for client generators. It is OpenAPI 3.0, with a path
// for each container, list and entry, but for no single leaf. Nodes of other modules are in the descriptions of those.
// For the module "" it is the index: the root resource, and the path of each description.
func OpenAPI(tree *tree.Node, module string) ([]byte, error) {
	texts, err := descriptions()
	if err != nil {
		return nil, err
	}
	d := describer{module: module, texts: texts, paths: object{}, schemas: object{
		"errors": object{"type": "object", "description": "RFC 8040, section 7.1"},
	}}
	d.walk(tree, root+"/data", nil)
	title, text := module, "The resources of module "+module+" in RESTCONF (RFC 8040)."
	if module == "" {
		title, text = "tamtam", "RESTCONF (RFC 8040). The resources of each module have a description of their own."
		d.index(tree)
	}
	basic := object{"type": "http", "scheme": "basic"}
	return json.MarshalIndent(object{
		"openapi":    "3.0.3",
		"info":       object{"title": title, "version": contentIDOf(), "description": text},
		"servers":    []any{object{"url": "/"}},
		"security":   []any{object{"basic": []any{}}},
		"paths":      d.paths,
		"components": object{"schemas": d.schemas, "securitySchemes": object{"basic": basic}},
	}, "", " ")
}

// index adds the path of each module's description.
func (d *describer) index(tree *tree.Node) {
	for _, module := range describedModules(tree) {
		at := root + openAPIs + module + ".json"
		d.paths[at] = object{"get": object{
			"operationId": "get " + at, "summary": "OpenAPI of " + module,
			"description": "The description of the resources of module " + module + ".",
			"responses": object{"200": object{"description": "OpenAPI 3.0", "content": object{
				plainJSON: object{"schema": object{"type": "object"}},
			}}},
		}}
	}
}

// contentIDOf returns the content id of the modules.
func contentIDOf() string {
	all, err := modules()
	if err != nil {
		return "unknown"
	}
	return contentID(all)
}

// A describer collects paths and schemas.
type describer struct {
	module         string            // the module that is described; "" is that of the root
	texts          map[string]string // see descriptions
	paths, schemas object
}

// text returns the description of a node. If it is missing or general, the description of the parent node follows.
// General descriptions are those of a list entry and of its containers config and state.
func (d *describer) text(n *tree.Node) string {
	if n.Parent == nil {
		return "All data of the switch."
	}
	text := d.texts[n.Path]
	switch part := n.Name == "config" || n.Name == "state"; {
	case text == "" && part:
		text = strings.ToUpper(n.Name[:1]) + n.Name[1:] + "."
	case text == "":
		text = "Group " + n.Name + "."
	case !part && !n.IsList:
		return text
	}
	if n.Parent.Parent == nil {
		return text
	}
	return text + " " + d.text(n.Parent)
}

// walk describes a node that is no leaf, and all below it, as far as they are of the module. keys are the parameters of
// the path so far.
func (d *describer) walk(n *tree.Node, at string, keys []any) {
	member, here := target{node: n}.name(), n.Module == d.module
	if n.Parent == nil {
		here = d.module == ""
	}
	if n.IsList {
		if here {
			d.paths[at] = d.operations(n, at, keys, member, true)
		}
		for i, key := range n.Keys() {
			name := fmt.Sprintf("%s-%s", n.Name, key)
			at += []string{"=", ","}[min(i, 1)] + "{" + name + "}"
			keys = append(keys[:len(keys):len(keys)], object{
				"name": name, "in": "path", "required": true, "schema": object{"type": "string"},
			})
		}
	}
	if here {
		d.paths[at] = d.operations(n, at, keys, member, false)
	}
	for _, k := range n.Kids {
		if k.Type != nil {
			continue
		}
		name := k.Name
		if k.Module != n.Module {
			name = k.Module + ":" + name
		}
		d.walk(k, at+"/"+name, keys)
	}
}

// operations returns the methods of a resource.
func (d *describer) operations(n *tree.Node, at string, keys []any, member string, all bool) object {
	value := object{"$ref": "#/components/schemas/" + d.schema(n)}
	if n.IsList {
		value = object{"type": "array", "items": value}
	}
	media := object{"schema": object{"type": "object", "properties": object{member: value}}}
	if example := exampleOf(n, n.Writable()); example != nil {
		media["example"] = object{member: example}
		if n.IsList {
			media["example"] = object{member: []any{example}}
		}
	}
	content := object{yangJSON: media}
	name, text := strings.TrimPrefix(n.Path, "/"), d.text(n)
	read := "Read " + name
	switch {
	case n.Parent == nil:
		name, read = "the configuration", "Read all data"
	case all:
		read = "Read all entries of " + name
	case n.IsList:
		name = "an entry of " + name
		read = "Read " + name
	}
	failed := object{"description": "refused", "content": object{yangJSON: object{
		"schema": object{"$ref": "#/components/schemas/errors"},
	}}}
	done := func(code, text string) object { return object{code: object{"description": text}, "default": failed} }
	out := object{"get": object{
		"operationId": "get " + at, "summary": read, "description": text,
		"parameters": []any{
			query("content", object{"type": "string", "enum": []string{"config", "nonconfig", "all"}}),
			query("depth", object{"type": "string"}),
		},
		"responses": object{"200": object{"description": "the data", "content": content}, "default": failed},
	}}
	if len(keys) > 0 {
		out["parameters"] = keys
	}
	if all || !n.Writable() {
		return out
	}
	send := func(method, summary, effect, done204 string) {
		out[method] = object{
			"operationId": method + " " + at, "summary": summary, "description": text + effect,
			"responses": done("204", done204), "requestBody": object{"required": true, "content": content},
		}
	}
	send("patch", "Merge into "+name, " Nodes that the body does not contain stay.", "merged")
	send("put", "Create or replace "+name, " Nodes that the body does not contain are deleted.", "replaced")
	if n.Parent != nil {
		out["delete"] = object{
			"operationId": "delete " + at, "summary": "Delete " + name, "description": text,
			"responses": done("204", "deleted"),
		}
	}
	return out
}

func query(name string, schema object) object {
	return object{"name": name, "in": "query", "schema": schema}
}

// schema describes the value of a container or of a list's entry, and returns its name.
func (d *describer) schema(n *tree.Node) string {
	name := schemaName(n)
	if d.schemas[name] != nil {
		return name
	}
	properties := object{}
	s := object{"type": "object", "description": d.text(n), "properties": properties}
	d.schemas[name] = s
	var required []string
	for _, k := range n.Kids {
		member := k.Name
		if k.Module != n.Module || n.Parent == nil {
			member = k.Module + ":" + member
		}
		switch {
		case k.Type == nil && k.Module != d.module:
			properties[member] = object{"type": map[bool]string{true: "array", false: "object"}[k.IsList],
				"description": d.text(k), "externalDocs": object{"url": root + openAPIs + k.Module + ".json"}}
			if k.IsList {
				properties[member].(object)["items"] = object{"type": "object"}
			}
		case k.IsList:
			properties[member] = object{"type": "array", "items": object{"$ref": "#/components/schemas/" + d.schema(k)}}
		case k.Type == nil:
			properties[member] = object{"$ref": "#/components/schemas/" + d.schema(k)}
		case k.LeafList:
			properties[member] = d.leaf(k, object{"type": "array", "items": leafSchema(k, k.Type)})
		default:
			properties[member] = d.leaf(k, leafSchema(k, k.Type))
			if k.Mandatory {
				required = append(required, member)
			}
		}
	}
	if required != nil {
		s["required"] = required
	}
	return name
}

// leaf adds a leaf's description to its schema, and readOnly if a Set cannot write the leaf.
func (d *describer) leaf(n *tree.Node, schema object) object {
	if text := d.texts[n.Path]; text != "" {
		schema["description"] = text
	}
	if !n.Writable() {
		schema["readOnly"] = true
	}
	return schema
}

// schemaName returns the path of a node with dots, which is unique.
func schemaName(n *tree.Node) string {
	if n.Parent == nil {
		return "data"
	}
	return strings.ReplaceAll(strings.Trim(n.Path, "/"), "/", ".")
}

// leafSchema returns the schema of a leaf's type in JSON (RFC 7951, section 6).
func leafSchema(n *tree.Node, t *goyang.YangType) object {
	switch t.Kind {
	case goyang.Yint8, goyang.Yint16, goyang.Yint32, goyang.Yuint8, goyang.Yuint16, goyang.Yuint32:
		s := object{"type": "integer"}
		if len(t.Range) > 0 {
			s["minimum"] = json.Number(t.Range[0].Min.String())
			s["maximum"] = json.Number(t.Range[len(t.Range)-1].Max.String())
		}
		return s
	case goyang.Yint64, goyang.Yuint64:
		return object{"type": "string", "pattern": "^-?[0-9]+$"}
	case goyang.Ydecimal64:
		return object{"type": "string", "pattern": `^-?[0-9]+(\.[0-9]+)?$`}
	case goyang.Ybool:
		return object{"type": "boolean"}
	case goyang.Yempty:
		return object{"type": "array", "items": object{"nullable": true}, "minItems": 1, "maxItems": 1}
	case goyang.Yenum, goyang.Yidentityref:
		return object{"type": "string", "enum": n.Words()}
	case goyang.Yunion:
		any := make([]object, len(t.Type))
		for i, one := range t.Type {
			any[i] = leafSchema(n, one)
		}
		return object{"anyOf": any}
	}
	s := object{"type": "string"}
	if len(t.Length) > 0 {
		s["minLength"] = json.Number(t.Length[0].Min.String())
		if most := t.Length[len(t.Length)-1].Max; !isMaximum(most) {
			s["maxLength"] = json.Number(most.String())
		}
	}
	return s
}

// isMaximum reports whether the end of a length means that there is no limit.
func isMaximum(n goyang.Number) bool { return len(n.String()) > 15 }
