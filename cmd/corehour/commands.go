package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// Exit codes.
const (
	exitNothing    = 0
	exitFound      = 1
	exitFailed     = 2
	exitCannotTell = 3
)

// command is one subcommand. run returns the exit code; an error means
// exitFailed, or exitCannotTell if it is one of query.ErrNoData.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error)
}

// commands is filled by init: the help of each refers to the others.
var commands []command

func init() {
	commands = []command{
		{"regress", "compare each service's newest version with the one before", runRegress},
		{"accept", "say that a slowdown is meant: its level is the new baseline", runAccept},
		{"drift", "find methods that became dearer over weeks, and since when", runDrift},
		{"cost", "rank methods by what their own code costs", runCost},
		{"explain", "why a method is sampled as it is", runExplain},
		{"report", "one page of all of it, to be read and passed on", runReport},
		{"sql", "run a query of your own, read-only", runSQL},
		{"check", "is every counted call stored? freshness, losses, prices", runCheck},
		{"prices", "check: which price each machine has, and which have none", runPrices},
		{"lint-otlp", "what is wrong with a captured request of a client", runLint},
		{"compact", "merge files, roll old dates up, drop what is too old", runCompact},
		{"demo", "watch a bad release being found, here and now", runDemo},
		{"version", "of this command, and of Go and DuckDB in it", runVersion},
	}
}

// reserved are names that mean something later.
var reserved = []string{"build", "probes", "tree", "ui"}

// run is the command without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitFailed
	}
	name, rest := args[0], args[1:]
	switch {
	case slices.Contains([]string{"help", "-h", "-help", "--help"}, name):
		switch len(rest) {
		case 0:
			usage(stdout)
			return exitNothing
		case 1:
			name, rest = rest[0], []string{"--help"}
		default:
			fmt.Fprintf(stderr, "corehour help: want one command, found the further argument %q\n", rest[1])
			return exitFailed
		}
	case name == "-version" || name == "--version":
		name = "version"
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintln(stderr, "corehour: "+output.Printable(unknownCommand(name)))
		return exitFailed
	}
	code, err := commands[i].run(ctx, rest, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitNothing
	case err == nil:
		return code
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "corehour %s: interrupted\n", name)
		return exitFailed
	}
	printError(stderr, name, err)
	if errors.Is(err, query.ErrNoData) {
		return exitCannotTell
	}
	return exitFailed
}

func unknownCommand(name string) string {
	if slices.Contains(reserved, name) {
		return fmt.Sprintf("%q is reserved for a later release", name)
	}
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	return fmt.Sprintf("unknown command %q: %s", name, configfile.DidYouMean(name, names))
}

func usage(w io.Writer) {
	fmt.Fprint(w, "corehour says what methods cost, which deployment made which dearer, and whether\nthe figures can be believed.\n\nusage: corehour <command> [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\n`corehour <command> --help` lists the flags of a command. Exit codes: 0 nothing to\nreport, 1 found, 2 failed, 3 could not tell.\n")
}
