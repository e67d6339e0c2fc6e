package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/query"
)

// Exit codes.
const (
	exitNothing    = 0
	exitFound      = 1
	exitFailed     = 2
	exitCannotTell = 3
)

// exitCode ends a command that did not fail with an exit code other than 0.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// work runs a command after its flags are parsed. It returns the exit code; an error means exitFailed, or
// exitCannotTell for a query.ErrNoData.
type work func(ctx context.Context, stdout, stderr io.Writer) (int, error)

func withWork(cmd *cobra.Command, w work) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		code, err := w(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		if err == nil && code != exitNothing {
			return exitCode(code)
		}
		return err
	}
	return cmd
}

// newRoot returns the tree of commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:               "corehour <command> [flags]",
		Short:             "Method-level cost of services, and what changed it",
		Long:              rootText,
		Args:              cobra.ArbitraryArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		printHelp(cmd.ErrOrStderr(), cmd)
		return exitCode(exitFailed)
	}
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(cmd.OutOrStdout(), cmd) })
	root.SetHelpCommand(newHelpCommand())
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"COSTS AND CHANGES", []*cobra.Command{
			newRegressCommand(), newAcceptCommand(), newDriftCommand(), newCostCommand(), newExplainCommand(), newReportCommand(), newSQLCommand(),
		}},
		{"WAREHOUSE", []*cobra.Command{newCheckCommand(), newPricesCommand(), newCompactCommand()}},
		{"PROGRAMS WITHOUT SOURCE CHANGES", []*cobra.Command{newGoCommand(), newExecCommand(), newProbesCommand()}},
		{"OTHER COMMANDS", []*cobra.Command{newDemoCommand(), newLintCommand(), newCompletionCommand(), newVersionCommand(), newManCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, c := range group.commands {
			c.GroupID, c.DisableAutoGenTag = group.title, true
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("OTHER COMMANDS")
	return root
}

// run runs the command without a process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetArgs(canonicalArgs(args))
	cmd, err := root.ExecuteContextC(ctx)
	var code exitCode
	switch {
	case err == nil:
		return exitNothing
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil:
		err = errors.New("interrupted")
	}
	printError(stderr, strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "corehour"), " "), err)
	if errors.Is(err, query.ErrNoData) {
		return exitCannotTell
	}
	return exitFailed
}

// canonicalArgs replaces --help and --version in the place of a command by the commands of these
// names.
func canonicalArgs(args []string) []string {
	args = append([]string{}, args...) // not nil, which cobra replaces by the arguments of the process
	if len(args) == 0 {
		return args
	}
	switch args[0] {
	case "-h", "--help":
		args[0] = "help"
	case "--version":
		args[0] = "version"
	}
	return args
}

func commandOf(root *cobra.Command, name string) *cobra.Command {
	commands := root.Commands()
	if i := slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
		return commands[i]
	}
	return nil
}

func unknownCommand(root *cobra.Command, name string) error {
	if slices.Contains([]string{"tree", "ui"}, name) {
		return fmt.Errorf("%q is reserved for a later release", name)
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q: %s", name, cmp.Or(configfile.DidYouMean(name, names), "see corehour --help"))
}

// flagError returns what pflag found in the form of our errors.
func flagError(cmd *cobra.Command, err error) error {
	var (
		undefined *pflag.NotExistError
		invalid   *pflag.InvalidValueError
		noValue   *pflag.ValueRequiredError
		syntax    *pflag.InvalidSyntaxError
	)
	switch {
	case given(cmd.Flags(), "help"):
		return pflag.ErrHelp
	case errors.As(err, &undefined):
		if group := undefined.GetSpecifiedShortnames(); group != "" {
			name, _, _ := strings.Cut(group, "=")
			return unknownFlag(cmd, "-", name, "flags have two dashes: ")
		}
		return unknownFlag(cmd, "--", undefined.GetSpecifiedName(), "")
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s: want %s, found %q", invalid.GetFlag().Name, wantedBy(invalid.GetFlag()), invalid.GetValue())
	case errors.As(err, &noValue):
		return fmt.Errorf("--%s: want %s, found nothing after it", noValue.GetFlag().Name, wantedBy(noValue.GetFlag()))
	case errors.As(err, &syntax):
		return fmt.Errorf("%q is no flag: want --name or --name=value; %s --help lists them", syntax.GetSpecifiedFlag(), cmd.CommandPath())
	}
	return err
}

func unknownFlag(cmd *cobra.Command, dashes, name, hint string) error {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if suggestion := configfile.DidYouMean(name, names); strings.HasPrefix(suggestion, "did you mean ") {
		hint += strings.Replace(suggestion, `"`, `"--`, 1)
	} else {
		hint += fmt.Sprintf("see %s --help", cmd.CommandPath())
	}
	return fmt.Errorf("unknown flag %s%s: %s", dashes, name, hint)
}

// wantedBy returns what kind of value a flag takes.
func wantedBy(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false, or nothing after it"
	case "int", "int64":
		return "a whole number like 20"
	case "float64":
		return "a number like 2.5"
	case "duration":
		return "a duration like 90s or 5m"
	}
	if what, _ := pflag.UnquoteUsage(f); what != "" && what != "string" {
		return "a value (" + what + ")"
	}
	return "a value"
}
