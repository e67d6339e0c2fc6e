// Corehour answers from a warehouse what methods cost, which deployment made
// which method dearer, and whether the figures can be believed.
//
//	corehour regress   compare each service's newest version with the one before
//	corehour accept    say that a slowdown is meant: its level is the new baseline
//	corehour drift     find methods that became dearer over weeks, and since when
//	corehour cost      rank methods by what their own code costs
//	corehour explain   why a method is sampled as it is
//	corehour report    one page of all of it, to be read and passed on
//	corehour sql       run a query of your own, read-only
//	corehour check     is every counted call stored? freshness, losses, prices
//	corehour prices    check: which price each machine has, and which have none
//	corehour lint-otlp what is wrong with a captured request of a client
//	corehour compact   merge files, roll old dates up, drop what is too old
//	corehour demo      watch a bad release being found, here and now
//	corehour version   of this command, and of Go and DuckDB in it
//
// `corehour <command> --help` lists a command's flags. These all commands but
// compact, demo, lint-otlp and version have:
//
//	--warehouse DIR      the directory the collector's warehouse exporter writes to
//	                     (default ./corehour-warehouse), gs://bucket, s3://bucket,
//	                     file:///directory or bigquery://project/dataset; check
//	                     takes several
//	--cache-size N       bucket: bytes of its files that are kept on the local disk
//	                     (default 10GB)
//	--max-bytes-billed N BigQuery: what all queries of a command together may read, with
//	                     --every those of each look (default 100GB); each is estimated
//	                     on standard error first
//	--format FORMAT      text, json, markdown or csv; explain and report have no csv,
//	                     report writes html unless told otherwise
//	--since DURATION     look back from --to, or from now: 90m, 24h, 7d
//	--from, --to TIME    2026-11-21, "2026-11-21 14:30" or RFC 3339; to is not part of it
//	--tz ZONE            of times read and shown (default UTC)
//	--service NAME       only this service
//	--environment NAME   only this environment
//
// # Exit codes
//
//	0  nothing to report
//	1  regress: a regression; drift: a drift; cost --budgets: a budget that is
//	   not kept; check: the ledger does not balance; lint-otlp: findings
//	2  failed: bad flags, no warehouse, a query that can't run
//	3  could not tell: no rows, only one version, too few records, dates without
//	   an account, calls that may be in the warehouse of another collector
//
// # Versions
//
// regress takes the newest version of a service and environment and the version
// that was last seen before its first row. Time decides, never the spelling. A
// version that comes back after another took its place is a new deployment. Rows
// without a version are not compared. See the package regression/verdict for the
// rule by which a change is raised.
//
// # Self and inclusive
//
// Inclusive time nests, so only self costs are added up or shown as shares: a
// method's time less that of the calls whose caller it is. `~` marks a figure too
// uncertain to act on.
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
		// Answers are made of few large slices, and most of the time is the engine's: a
		// smaller heap costs next to nothing.
		debug.SetGCPercent(30)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
