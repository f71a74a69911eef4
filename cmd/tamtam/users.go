package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tamtam/internal/command"
	"tamtam/mgmt/access"
)

func newUsers() *cobra.Command {
	var file string
	c := &cobra.Command{Use: "users set|remove|list", Short: "Change the file of users, for --users",
		Long: `Change the file of users, for --users of tamtam up and tamtam run mgmtd. They read the file again when it
changes. The requests of a removed user are then refused, and the subscriptions of the user end within
seconds. Passwords are stored as hashes.`,
		RunE: func(*cobra.Command, []string) error { return usagef("want set NAME, remove NAME or list") }}
	c.PersistentFlags().StringVar(&file, "users", os.Getenv("TAMTAM_USERS"), "`FILE` of users (default from TAMTAM_USERS)")
	c.AddCommand(newUsersSet(&file), newUsersRemove(&file), newUsersList(&file))
	return c
}

// usersFile returns an error if there is no file.
func usersFile(file string) error {
	if file == "" {
		return usagef("--users is missing: want the file of users")
	}
	return nil
}

func newUsersSet(file *string) *cobra.Command {
	var role, password string
	c := &cobra.Command{
		Use: "set NAME", Short: "Create or change a user; the password is read from standard input",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := usersFile(*file); err != nil {
				return err
			}
			if password == "" {
				var err error
				if password, err = askPassword(cmd, args[0]); err != nil {
					return err
				}
			}
			u, err := access.NewUser(args[0], password, cmp.Or(access.Role(role), access.ReadOnly))
			if err != nil {
				return command.Usage(err)
			}
			return access.Set(*file, u, role == "")
		},
	}
	c.Flags().StringVar(&role, "role", "",
		"read-only, operator, admin, or a role of --roles of the switch (default: unchanged; for a new user, read-only)")
	c.Flags().StringVarP(&password, "password", "p", "",
		"password; other users of this machine can see it in the list of processes")
	return c
}

// askPassword reads a password: at a terminal twice without echo, and otherwise one line.
func askPassword(cmd *cobra.Command, name string) (string, error) {
	if fd := int(os.Stdin.Fd()); cmd.InOrStdin() == os.Stdin && term.IsTerminal(fd) {
		var twice [2]string
		for i, prompt := range []string{"Password of " + name + ": ", "Again: "} {
			fmt.Fprint(cmd.ErrOrStderr(), prompt)
			text, err := term.ReadPassword(fd)
			fmt.Fprintln(cmd.ErrOrStderr())
			if err != nil {
				return "", err
			}
			twice[i] = string(text)
		}
		if twice[0] != twice[1] {
			return "", errors.New("the two passwords differ; nothing was changed")
		}
		return twice[0], nil
	}
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 4096)).ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", fmt.Errorf("no password on standard input: %w", errors.Join(err, errors.New("want one line")))
	}
	return line, nil
}

func newUsersRemove(file *string) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a user", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := usersFile(*file); err != nil {
				return err
			}
			return access.Remove(*file, args[0])
		},
	}
}

func newUsersList(file *string) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Print the names and roles of users, and mark passwords in clear text",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := usersFile(*file); err != nil {
				return err
			}
			users, err := access.Users(*file)
			if err != nil {
				return err
			}
			for _, u := range users {
				note := ""
				if !u.Hashed() {
					note = "  password in clear text"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-20s %s%s\n", u.Name, u.Role, note)
			}
			return nil
		},
	}
}
