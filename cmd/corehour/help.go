package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

const rootText = `corehour reports what methods cost, which deployment made which of them more expensive, and whether
every counted call is stored. It reads the warehouse that corehour-collector writes.`

const rootExits = `0 nothing to report
1 found: a regression, a drift, a missed budget, a missing call
2 failed: bad flags or arguments, no warehouse, a query that cannot run
3 not enough data`

// exitCodes is the annotation of commands that list their exit codes, flagGroup of flags with the
// heading in the help.
const (
	exitCodes = "exit codes"
	flagGroup = "group"
)

func exits(lines string) map[string]string { return map[string]string{exitCodes: lines} }

// groupFlags lists flags under a heading in the help. Flags of a single command need none.
func groupFlags(f *pflag.FlagSet, heading string, names ...string) {
	for _, name := range names {
		fl := f.Lookup(name)
		if fl.Annotations == nil {
			fl.Annotations = map[string][]string{}
		}
		fl.Annotations[flagGroup] = []string{heading}
	}
}

// flagHeadings is ordered as in the help.
const (
	ownFlags       = "FLAGS"
	policyFlags    = "POLICY"
	timeFlags      = "TIME"
	filterFlags    = "FILTER"
	outputFlags    = "OUTPUT"
	alertFlags     = "ALERTS"
	warehouseFlags = "WAREHOUSE"
)

func printHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s.\n\nusage: %s\n\n%s\n", cmd.Short, cmd.UseLine(), cmd.Long)
	for _, group := range cmd.Groups() {
		fmt.Fprintf(w, "\n%s\n", group.Title)
		for _, c := range cmd.Commands() {
			if c.GroupID == group.ID && c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-10s  %s\n", c.Name(), c.Short)
			}
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nEXAMPLES\n%s\n", cmd.Example)
	}
	for _, heading := range []string{ownFlags, policyFlags, timeFlags, filterFlags, outputFlags, alertFlags, warehouseFlags} {
		printFlags(w, cmd.Flags(), heading)
	}
	fmt.Fprintf(w, "\nEXIT CODES\n  %s\n", strings.ReplaceAll(exitsOf(cmd), "\n", "\n  "))
	if cmd.HasSubCommands() {
		fmt.Fprint(w, "\n`corehour <command> --help` lists the flags of a command.\n")
	}
}

func printFlags(w io.Writer, flags *pflag.FlagSet, heading string) {
	title := "\n" + heading + "\n"
	flags.VisitAll(func(f *pflag.Flag) {
		of := ownFlags
		if group := f.Annotations[flagGroup]; group != nil {
			of = group[0]
		}
		if of != heading || f.Hidden || f.Name == "help" {
			return
		}
		value, what := pflag.UnquoteUsage(f)
		if value != "" {
			value = " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && !strings.Contains(what, "(default") {
			what += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		fmt.Fprintf(w, "%s  --%s%s\n        %s\n", title, f.Name, value, what)
		title = ""
	})
}

// exitsOf returns the meanings of a command's exit codes.
func exitsOf(cmd *cobra.Command) string {
	return cmp.Or(cmd.Annotations[exitCodes], rootExits)
}

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "help [command]",
		Short:       "Print the help of a command",
		Long:        "Prints the help of a command, as its flag --help does, or the list of commands.",
		Example:     "  corehour help regress",
		Annotations: exits("0 printed\n2 no such command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			about := cmd.Root()
			if len(args) > 1 {
				return fmt.Errorf("want one command, found the further argument %q", args[1])
			}
			if len(args) == 1 {
				if about = commandOf(cmd.Root(), args[0]); about == nil {
					return unknownCommand(cmd.Root(), args[0])
				}
			}
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && c.IsAvailableCommand() && strings.HasPrefix(c.Name(), typed) {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// newManCommand returns the command behind `make man`.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man [flags] DIRECTORY",
		Short:  "Write man pages into a directory",
		Long:   "Writes a man page for each command into a directory that exists.",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, c := range append(cmd.Root().Commands(), cmd.Root()) {
				c.Long += "\n\nExit codes:\n\n    " + strings.ReplaceAll(exitsOf(c), "\n", "\n    ")
			}
			return doc.GenManTreeFromOpts(cmd.Root(), doc.GenManTreeOptions{
				Path: args[0], CommandSeparator: "-", Header: &doc.GenManHeader{Section: "1", Source: "corehour " + version, Manual: "corehour"},
			})
		},
	}
}
