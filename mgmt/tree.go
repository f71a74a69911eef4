package mgmt

import (
	"slices"

	"tamtam/mgmt/tree"

	"github.com/openconfig/goyang/pkg/yang"
)

// A Node is a node of the tree of YANG, for those who write paths and values in another way than gNMI does.
type Node struct{ n *tree.Node }

// Root is above the top nodes of all modules.
func (s *Server) Root() Node { return Node{s.model.Root} }

// Name is without that of the module.
func (n Node) Name() string { return n.n.Name }

// Path is that of the names, from the root, without keys: /a/b.
func (n Node) Path() string { return n.n.Path }

// Module is the name of the module that has the node; "" of the root.
func (n Node) Module() string { return n.n.Module }

// Config says that the node, or something in it, may be written.
func (n Node) Config() bool { return n.n.Writable() }

// WrittenIn says of a node of a model's configuration that cannot be written here why, and where it is written; "": it
// can be written, or is state.
func (n Node) WrittenIn() string {
	if !n.n.Config || n.n.Writable() {
		return ""
	}
	return n.n.WrittenIn()
}

// Root says that it is the root.
func (n Node) Root() bool { return n.n.Parent == nil }

// List says that it is a list, whose entries have keys.
func (n Node) List() bool { return n.n.IsList }

// Type is that of a leaf or leaf-list, with leafrefs resolved; nil: it is neither.
func (n Node) Type() *yang.YangType { return n.n.Type }

// LeafList says that it is a leaf-list.
func (n Node) LeafList() bool { return n.n.LeafList }

// Words are those of an enumeration, or identities with their module, in order.
func (n Node) Words() []string {
	var words []string
	for word, module := range n.n.Enum {
		if module != "" {
			word = module + ":" + word
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// Default is the default of a leaf; "": it has none.
func (n Node) Default() string { return tree.First(n.n.Default) }

// Mandatory says that a leaf must be given.
func (n Node) Mandatory() bool { return n.n.Mandatory }

// Keys are the keys of a list, in their order.
func (n Node) Keys() []string {
	if !n.n.IsList {
		return nil
	}
	return n.n.List.OwnKeys()
}

// Child is the child of that name.
func (n Node) Child(name string) (Node, bool) {
	k := n.n.Kid[name]
	return Node{k}, k != nil
}

// Children are all children: a list's keys first, the others by name.
func (n Node) Children() []Node {
	kids := make([]Node, len(n.n.Kids))
	for i, k := range n.n.Kids {
		kids[i] = Node{k}
	}
	return kids
}
