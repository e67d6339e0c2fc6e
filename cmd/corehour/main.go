// Corehour reports from a warehouse the cost of methods, the deployment that made a method more
// expensive, and whether every counted call is stored.
//
//	corehour regress     compare each service's newest version with the one before
//	corehour accept      accept a slowdown as the new baseline
//	corehour drift       find methods that became more expensive over weeks
//	corehour cost        rank methods by what their own code costs
//	corehour explain     show what is known of a method, and why it is sampled so
//	corehour report      write one page: costs, changes, callers, health
//	corehour sql         query the warehouse with SQL, read-only
//	corehour check       check that every counted call is stored, and how fresh
//	corehour prices      check which price each machine has, and which has none
//	corehour compact     maintain a warehouse: merge, roll up, expire
//	corehour go          build a Go program with a probe in every function
//	corehour probes      list the functions of a binary that have a probe
//	corehour exec        run a program, and print what its methods cost
//	corehour demo        run a demo: a bad release is found within two minutes
//	corehour lint-otlp   check a captured OTLP request of a client
//	corehour completion  write a completion script for a shell
//	corehour version     print the versions of corehour, Go and DuckDB
//
// `corehour <command> --help` lists a command's flags, in groups, and its exit codes. Flags
// may follow arguments.
//
// # Exit codes
//
//	0  nothing to report
//	1  regress: a regression; drift: a drift; cost --budgets: a budget that is not kept;
//	   check: a call is missing; prices check: no price; lint-otlp: findings
//	2  failed: bad flags or arguments, no warehouse, a query that cannot run
//	3  could not tell: no rows, only one version, too few records, days without an account,
//	   calls that may be in the warehouse of another collector
//
// exec returns the exit code of its program.
//
// # Versions
//
// regress compares the newest version of a service and environment with the version that was last seen
// before its first row. Time decides, never the spelling. A version that returns after another one is
// a new deployment. Rows without a version are not compared.
//
// # Self and inclusive
//
// Inclusive time nests, so only self costs are added up or shown as shares: a method's time minus the
// time of the calls that it makes. `~` marks a figure that is too uncertain to act on.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// Answers consist of few large slices, and most time is spent in the engine: a smaller heap
		// costs almost nothing.
		debug.SetGCPercent(30)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
