package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCommandsPage_UpToDate compares the page with the tree of commands that prints the help and the man pages.
func TestCommandsPage_UpToDate(t *testing.T) {
	golden(t, "../../../docs/reference/commands.md", commandsText(newRoot()))
}

// commandsText returns the page. Flags that mean the same in several commands are listed once.
func commandsText(root *cobra.Command) string {
	var commands []*cobra.Command
	shared := make(map[string][]*cobra.Command) // commands by flag and meaning
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		commands = append(commands, c)
		for _, f := range flagsOf(c) {
			shared[f.Name+f.Usage] = append(shared[f.Name+f.Usage], c)
		}
	}
	var b strings.Builder
	b.WriteString("<!-- Written by go test ./cmd/corehour -run CommandsPage -update from the commands' own help. -->\n\n" +
		"# Commands\n\nAfter this page you can look up every command of `corehour`, its flags and its exit codes.\n" +
		"`corehour COMMAND --help` adds examples.\n\n## Flags of several commands\n\n" +
		"Commands that query are " + names(queries(root)) + ".\n\n| flag | default | meaning | commands |\n|---|---|---|---|\n")
	var several []*pflag.Flag
	for _, c := range commands {
		for _, f := range flagsOf(c) {
			if with := shared[f.Name+f.Usage]; len(with) > 1 && with[0] == c {
				several = append(several, f)
			}
		}
	}
	slices.SortStableFunc(several, func(a, b *pflag.Flag) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range several {
		with := shared[f.Name+f.Usage]
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", flagCell(f), sharedDefault(f.Name, with), usageCell(f), others(with, queries(root)))
	}
	for _, c := range commands {
		fmt.Fprintf(&b, "\n## `corehour %s`\n\n%s. Usage: `%s`\n", c.Name(), c.Short, c.UseLine())
		head := "\n| flag | default | meaning |\n|---|---|---|\n"
		for _, f := range flagsOf(c) {
			if len(shared[f.Name+f.Usage]) == 1 {
				fmt.Fprintf(&b, "%s| %s | %s | %s |\n", head, flagCell(f), defaultCell(f), usageCell(f))
				head = ""
			}
		}
		fmt.Fprintf(&b, "\nExit codes: %s.\n", strings.ReplaceAll(strings.ReplaceAll(exitsOf(c), ";", ","), "\n", "; "))
	}
	return b.String()
}

// flagsOf returns the flags that the help lists.
func flagsOf(c *cobra.Command) (flags []*pflag.Flag) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			flags = append(flags, f)
		}
	})
	return flags
}

func flagCell(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	return "`" + strings.TrimSpace("--"+f.Name+" "+value) + "`"
}

func usageCell(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	return strings.ReplaceAll(usage, "|", `\|`)
}

func defaultCell(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	if f.DefValue == "" || f.DefValue == "false" || strings.Contains(usage, "(default") || f.Name == "bin" {
		return "" // that of --bin depends on where the program is
	}
	return "`" + f.DefValue + "`"
}

// sharedDefault returns the default of a flag, by command where commands differ.
func sharedDefault(name string, commands []*cobra.Command) string {
	byDefault := make(map[string][]*cobra.Command)
	var order []string
	for _, c := range commands {
		d := defaultCell(c.Flags().Lookup(name))
		if byDefault[d] == nil {
			order = append(order, d)
		}
		byDefault[d] = append(byDefault[d], c)
	}
	if len(order) == 1 {
		return order[0]
	}
	var cells []string
	for _, d := range order {
		if d != "" {
			cells = append(cells, d+" "+names(byDefault[d]))
		}
	}
	return strings.Join(cells, "; ")
}

// queries returns the commands that query a warehouse: they can select a service.
func queries(root *cobra.Command) (found []*cobra.Command) {
	for _, c := range root.Commands() {
		if f := c.Flags().Lookup("no-frameworks"); f != nil && c.IsAvailableCommand() {
			found = append(found, c)
		}
	}
	return found
}

// others returns the names of commands, with "all that query" for those of a set.
func others(commands, set []*cobra.Command) string {
	rest := slices.DeleteFunc(slices.Clone(commands), func(c *cobra.Command) bool { return slices.Contains(set, c) })
	switch {
	case len(commands)-len(rest) < len(set):
		return names(commands)
	case len(rest) == 0:
		return "all that query"
	}
	return "all that query, " + names(rest)
}

func names(commands []*cobra.Command) string {
	var all []string
	for _, c := range commands {
		all = append(all, c.Name())
	}
	return strings.Join(all, ", ")
}
