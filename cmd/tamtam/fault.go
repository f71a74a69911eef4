package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/device/fault"
	"tamtam/internal/command"
	"tamtam/swss"
)

const allowFaultsUsage = "accept fault injection by \"tamtam fault\": every client of Redis can then inject faults"

// A faultTarget is the switch that faults are injected into.
type faultTarget struct {
	redis, database string
	timeout         time.Duration
}

// reach calls f with the switch's Redis.
func (t *faultTarget) reach(cmd *cobra.Command, f func(context.Context, *swss.Redis) error) error {
	cfg, err := swss.DefaultConfig(t.redis)
	if t.database != "" {
		cfg, err = swss.LoadConfig(t.database)
	}
	if err != nil {
		return command.Usage(err)
	}
	if t.timeout <= 0 {
		return usagef("--timeout %v: want more than 0", t.timeout)
	}
	r := swss.Look(cfg)
	defer r.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), t.timeout)
	defer cancel()
	if err := r.DB(swss.StateDB).Ping(ctx); err != nil {
		return fmt.Errorf("redis at %s: %s; if it is paused on purpose, that ends by itself within %v",
			r.Addr(), swss.Why(err), fault.MostPause)
	}
	return f(ctx, r)
}

func newFault() *cobra.Command {
	var t faultTarget
	c := &cobra.Command{
		Use:   "fault list|clear|sai|notifications|redis|clock",
		Short: "Inject faults on purpose into a switch that was started with --allow-faults",
		Long: `Inject faults on purpose into a switch whose daemons were started with --allow-faults: SAI calls that
fail or take long, notifications that are lost or come twice, a Redis that is paused, slow, full or
emptied, a clock that is set.

A fault is in force when the command says so. It ends by itself, with "tamtam fault clear" or with its
daemon. While it is there the daemon is not ready and there is an alarm; both say why.
Exit 1 if nobody takes the fault, or it is not known whether it was taken.`,
		RunE: func(*cobra.Command, []string) error {
			return usagef("which fault? `tamtam fault --help` lists them")
		},
	}
	f := c.PersistentFlags()
	f.StringVar(&t.redis, "redis", "127.0.0.1:6379", "HOST:PORT or unix:PATH")
	f.StringVar(&t.database, "database-config", "", "a SONiC database_config.json, instead of --redis")
	f.DurationVar(&t.timeout, "timeout", 10*time.Second, "how long to wait for an answer")
	c.AddCommand(newFaultList(&t), newFaultClear(&t),
		faultGroup("sai fail|delay", "Calls of syncd to the chip",
			newInject(&t, fault.SAIFail, "fail", "SAI calls fail", "every", "count", "op", "type", "status"),
			newInject(&t, fault.SAIDelay, "delay DURATION", "SAI calls take longer", "every", "count", "op", "type")),
		faultGroup("notifications lose|double", "What is published",
			newInject(&t, fault.NotificationsLose, "lose", "Notifications are lost", "every", "count", "of", "at"),
			newInject(&t, fault.NotificationsDouble, "double", "Notifications come twice", "every", "count", "of", "at")),
		faultGroup("redis pause|slow|full|empty", "The Redis that the daemons work on",
			newInject(&t, fault.RedisPause, "pause", "Redis answers no client; this cannot be ended early", "at"),
			newInject(&t, fault.RedisSlow, "slow DURATION", "Redis answers up to so much later", "at"),
			newInject(&t, fault.RedisFull, "full", "Redis is out of memory and takes no rows", "at"),
			newInject(&t, fault.RedisEmpty, "empty DATABASE|all", "A database is emptied; this cannot be undone", "at")),
		faultGroup("clock step", "Clocks that the switch goes by", newClockStep(&t)))
	return c
}

func faultGroup(use, short string, leaves ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, _ []string) error {
		_, words, _ := strings.Cut(use, " ")
		return usagef("%s what? %s", cmd.Name(), words)
	}}
	c.AddCommand(leaves...)
	return c
}

// faultFlags maps fields of a fault's row to the help of their flags.
var faultFlags = map[string]string{
	"for": fmt.Sprintf("it ends after that (default %v, at most %v; a pause %v)", fault.UsualFor, fault.MostFor,
		fault.MostPause),
	"count":  "it ends after so many calls or messages",
	"every":  "each n-th call or message only",
	"op":     "these calls: " + strings.Join(fault.Ops(), ", "),
	"type":   "calls on objects of this type, as acl-entry",
	"status": "the status of SAI that they return (default FAILURE)",
	"at":     "the daemon (default: the first that takes such faults)",
}

// newInject returns the command that injects faults of a kind. The argument in use, if any, is a field too.
func newInject(t *faultTarget, kind fault.Kind, use, short string, flags ...string) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	_, arg, _ := strings.Cut(use, " ")
	if kind != fault.RedisEmpty {
		flags = append(flags, "for")
	}
	values := map[string]*string{}
	for _, name := range flags {
		usage := faultFlags[name]
		if name == "of" {
			usage = "at syncd: port_state_change, fdb_event or switch_shutdown_request; elsewhere a part of the channel's name"
		}
		values[name] = c.Flags().String(name, "", usage)
	}
	if arg != "" {
		c.Args = cobra.ExactArgs(1)
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		row := swss.FieldValues{"kind": string(kind)}
		for name, value := range values {
			if cmd.Flags().Changed(name) && name != "at" {
				row[name] = *value
			}
		}
		if arg == "DURATION" {
			row["delay"] = args[0]
		} else if arg != "" {
			row["db"] = args[0]
		}
		at := ""
		if values["at"] != nil {
			at = *values["at"]
		}
		return t.inject(cmd, at, row)
	}
	return c
}

// newClockStep returns the command whose argument may begin with a minus.
func newClockStep(t *faultTarget) *cobra.Command {
	c := &cobra.Command{
		Use:   "step +DURATION|-DURATION",
		Short: "A clock is set forward or back, and at the end of the fault to where it was",
		Args:  cobra.ArbitraryArgs, DisableFlagParsing: true,
	}
	long := c.Flags().String("for", "", faultFlags["for"])
	of := c.Flags().String("of", fault.ChipClock,
		"chip: its time of day, by which it marks and stamps; host: the kernel's clock")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		step, rest := "", []string{}
		for _, arg := range args {
			if len(arg) > 1 && strings.ContainsAny(arg[:1], "+-") && arg[1] >= '0' && arg[1] <= '9' {
				step = arg
				continue
			}
			rest = append(rest, arg)
		}
		if err := cmd.Flags().Parse(rest); err != nil {
			return command.Usage(err)
		}
		if help, _ := cmd.Flags().GetBool("help"); help {
			return cmd.Help()
		}
		if step == "" || cmd.Flags().NArg() > 0 {
			return usagef("clock step: want one time with its sign, as +2s or -2s")
		}
		row := swss.FieldValues{"kind": string(fault.ClockStep), "step": step, "of": *of}
		if *long != "" {
			row["for"] = *long
		}
		return t.inject(cmd, "", row)
	}
	return c
}

// inject requests a fault and prints the faults in force.
func (t *faultTarget) inject(cmd *cobra.Command, at string, row swss.FieldValues) error {
	f, err := fault.Parse(row)
	if err != nil {
		return command.Usage(err)
	}
	return t.reach(cmd, func(ctx context.Context, r *swss.Redis) error {
		n, err := fault.Inject(ctx, r, at, f)
		if err != nil {
			return err
		}
		if !n.Until.After(n.From) {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "done at %s: %s\n", n.At, n.Fault)
			return err
		}
		until := n.Until.UTC().Format(time.RFC3339)
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "in force at %s, until %s: %s\n", n.At, until, n.Fault)
		return err
	})
}

func newFaultClear(t *faultTarget) *cobra.Command {
	return &cobra.Command{
		Use: "clear", Short: "End all faults",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.reach(cmd, func(ctx context.Context, r *swss.Redis) error {
				cleared, err := fault.Clear(ctx, r)
				for _, daemon := range fault.Daemons() {
					if n, ok := cleared[daemon]; ok {
						fmt.Fprintf(cmd.OutOrStdout(), "%s: %d faults ended\n", daemon, n)
					}
				}
				return err
			})
		},
	}
}

func newFaultList(t *faultTarget) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "Show the faults that are in force, and those that were within the last seconds",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.reach(cmd, func(ctx context.Context, r *swss.Redis) error {
				told, unread, err := fault.Reported(ctx, r)
				if err != nil {
					return err
				}
				takers, err := fault.Takers(ctx, r)
				if err != nil {
					return err
				}
				list := fault.List{Takers: takers, Faults: told}
				if asJSON {
					err = printJSON(cmd.OutOrStdout(), list.JSON())
				} else {
					err = list.WriteText(cmd.OutOrStdout())
				}
				if err != nil {
					return err
				}
				for _, err := range unread {
					fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %v\n", err)
				}
				return fault.Check(ctx, r)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print them as JSON")
	return c
}
