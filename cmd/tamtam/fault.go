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

const allowFaultsUsage = "accept faults from tamtam fault: every client of Redis can then inject faults"

// A faultTarget is the switch that faults are injected into.
type faultTarget struct {
	place   localFlags
	timeout time.Duration
}

// reach calls f with the switch's Redis.
func (t *faultTarget) reach(cmd *cobra.Command, f func(context.Context, *swss.Redis) error) error {
	if t.timeout <= 0 {
		return usagef("--timeout %v: want more than 0", t.timeout)
	}
	if _, _, err := t.place.find(cmd.Flags().Changed); err != nil {
		return err
	}
	cfg, err := t.place.config()
	if err != nil {
		return err
	}
	r := swss.Look(cfg)
	defer r.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), t.timeout)
	defer cancel()
	if err := r.DB(swss.StateDB).Ping(ctx); err != nil {
		return fmt.Errorf("redis at %s: %s; if a fault has paused it, the pause ends within %v",
			r.Addr(), swss.Why(err), fault.MostPause)
	}
	return f(ctx, r)
}

func newFault() *cobra.Command {
	var t faultTarget
	c := &cobra.Command{
		Use:   "fault list|clear|sai|notifications|redis|clock",
		Short: "Inject faults into a switch that was started with --allow-faults",
		Long: `Inject faults into a switch whose daemons were started with --allow-faults. SAI calls can fail or be
slow. Notifications can be lost or duplicated. Redis can be paused, slow, full or emptied. A clock can
be set.

When the command prints "in force", the fault is in force. It ends after its time, at
"tamtam fault clear", or when its daemon stops. Meanwhile, the daemon is not ready and there is an
alarm; both contain the fault as the reason.

Exit codes: 0 if the fault is in force, 1 if no daemon accepts it or if that is unknown, 2 for a wrong
command line.`,
		RunE: func(*cobra.Command, []string) error {
			return usagef("want a fault: `tamtam fault --help` lists them")
		},
	}
	t.place.flags(c)
	f := c.PersistentFlags()
	f.AddFlagSet(c.Flags())
	f.DurationVar(&t.timeout, "timeout", 10*time.Second, "time limit for an answer")
	c.AddCommand(newFaultList(&t), newFaultClear(&t),
		faultGroup("sai fail|delay", "Inject faults into calls of syncd to the chip",
			newInject(&t, fault.SAIFail, "fail", "Let SAI calls fail", "every", "count", "op", "type", "status"),
			newInject(&t, fault.SAIDelay, "delay DURATION", "Delay SAI calls", "every", "count", "op", "type")),
		faultGroup("notifications lose|double", "Inject faults into published notifications",
			newInject(&t, fault.NotificationsLose, "lose", "Lose notifications", "every", "count", "of", "at"),
			newInject(&t, fault.NotificationsDouble, "double", "Deliver notifications twice", "every", "count", "of", "at")),
		faultGroup("redis pause|slow|full|empty", "Inject faults into the Redis of the daemons",
			newInject(&t, fault.RedisPause, "pause", "Let Redis answer no client; clear cannot end this early", "at"),
			newInject(&t, fault.RedisSlow, "slow DURATION", "Delay the answers of Redis by up to DURATION", "at"),
			newInject(&t, fault.RedisFull, "full", "Let Redis reject all writes, as if it were out of memory", "at"),
			newInject(&t, fault.RedisEmpty, "empty DATABASE|all", "Empty a database; this cannot be undone", "at")),
		faultGroup("clock step", "Inject faults into the clocks that the switch uses", newClockStep(&t)))
	return c
}

func faultGroup(use, short string, leaves ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, _ []string) error {
		_, words, _ := strings.Cut(use, " ")
		return usagef("%s: want %s", cmd.Name(), words)
	}}
	c.AddCommand(leaves...)
	return c
}

// faultFlags maps fields of a fault's row to the help of their flags.
var faultFlags = map[string]string{
	"for": fmt.Sprintf("duration of the fault (default %v, at most %v; a pause at most %v)", fault.UsualFor, fault.MostFor,
		fault.MostPause),
	"count":  "number of calls or messages after which the fault ends",
	"every":  "affect only every n-th call or message",
	"op":     "affect only these calls: " + strings.Join(fault.Ops(), ", "),
	"type":   "affect only calls on objects of this type, such as acl-entry",
	"status": "SAI status that the calls return (default FAILURE)",
	"at":     "daemon that injects the fault (default: the first that accepts such faults)",
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
			usage = "affect only these: at syncd port_state_change, fdb_event or switch_shutdown_request; " +
				"elsewhere a part of the channel's name"
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
		Short: "Set a clock forward or back; the end of the fault undoes it",
		Args:  cobra.ArbitraryArgs, DisableFlagParsing: true,
	}
	long := c.Flags().String("for", "", faultFlags["for"])
	of := c.Flags().String("of", fault.ChipClock,
		"chip: the time of day of its marks and stamps; host: the clock of the kernel")
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
		Use: "clear", Short: "End all faults, and print their number for each daemon",
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
		Use: "list", Short: "List the faults in force, and those that ended in the last seconds",
		Long: `List the faults in force, and those that ended in the last seconds. Met is the number of calls or
messages that a fault has affected. The exit code is 1 if no daemon accepts faults.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.reach(cmd, func(ctx context.Context, r *swss.Redis) error {
				reported, unread, err := fault.Reported(ctx, r)
				if err != nil {
					return err
				}
				accepting, err := fault.Accepting(ctx, r)
				if err != nil {
					return err
				}
				list := fault.List{Accepting: accepting, Faults: reported}
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
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
