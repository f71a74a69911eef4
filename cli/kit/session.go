package kit

import (
	"context"
	"fmt"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/tree"
)

// A Session is the state of the shell that its commands use and change.
type Session struct {
	Config  Config
	Client  *Client
	Grammar Grammar

	Mode      Mode
	Interface string // the interface that ModeInterface configures
	Finished  bool   // whether exit was called in exec mode

	Help    func(ctx context.Context) // lists the commands of the present mode
	History func() []string           // returns the lines of the user, the newest last; nil without a terminal
	// Confirm asks the user a question, and reports whether the answer is yes. It is nil without a terminal.
	Confirm func(question string) (bool, error)
}

// Warn writes a warning for the user to Err.
func (s *Session) Warn(format string, args ...any) {
	fmt.Fprintf(s.Config.Err, "%%Warning: "+format+"\n", args...)
}

// Existing returns the configuration at a path. It returns an error if there is none.
func (s *Session) Existing(ctx context.Context, what string, path *gpb.Path) (tree.Node, error) {
	found, err := s.Client.Configured(ctx, path)
	if err != nil {
		return tree.Node{}, err
	}
	if !found.Exists() {
		return tree.Node{}, s.Missing(ctx, what, path)
	}
	return found, nil
}

// Missing returns the error for an entry that does not exist. It names the entries of the list that may be meant.
func (s *Session) Missing(ctx context.Context, what string, path *gpb.Path) error {
	elems := slices.Clone(path.GetElem())
	last := len(elems) - 1
	var names []string
	typed := ""
	for key, value := range elems[last].GetKey() {
		elems[last] = &gpb.PathElem{Name: elems[last].GetName(), Key: map[string]string{key: "*"}}
		all := tree.Below(&gpb.Path{Elem: elems}, "config", key)
		if found, err := s.Client.Configured(ctx, all); err == nil && len(path.GetElem()[last].GetKey()) == 1 {
			names, typed = tree.SortNaturally(found.Texts()), value
		}
	}
	return fmt.Errorf("%s does not exist%s", what, Suggest(typed, names))
}

// RemoveEntry deletes an entry. It returns an error if the entry does not exist.
func (s *Session) RemoveEntry(ctx context.Context, what string, path *gpb.Path) error {
	if _, err := s.Existing(ctx, what, path); err != nil {
		return err
	}
	return s.Client.Set(ctx, Change{Path: path})
}

// Enter returns the action of a command that changes to a mode.
func Enter(m Mode) func(context.Context, *Call) error {
	return func(_ context.Context, c *Call) error {
		c.Session.Mode = m
		return nil
	}
}
