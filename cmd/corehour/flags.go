package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/corehour/corehour/internal/units"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// warehouseVariable is the variable that the collector's configuration reads, too.
const warehouseVariable = "COREHOUR_WAREHOUSE"

// defaultWarehouse returns the warehouse for commands without --warehouse.
func defaultWarehouse() string {
	return cmp.Or(os.Getenv(warehouseVariable), "./corehour-warehouse")
}

// common holds the flags of all commands.
type common struct {
	flags     *pflag.FlagSet
	warehouse string
	others    []string // further warehouses, if several
	several   bool     // the command reads several warehouses
	format    string
	json      bool
	wide      bool
	from, to  string
	since     string
	tz        string
	filter    query.Filter
	// noFrameworks excludes spans of frameworks.
	noFrameworks bool
	html         bool // the command can write HTML, and does by default
	maxBytes     string
	cacheSize    string
	notices      io.Writer // for estimates of a query's bytes; nil = not printed
	spent        *bigquery.Spent
	verified     *parquet.VerifiedFiles

	// Set by checkFlags.
	out    output.Format
	zone   *time.Location
	window query.Window
}

// warehouseFlag is a flag that can be repeated.
type warehouseFlag common

func (w *warehouseFlag) String() string { return w.warehouse }

func (w *warehouseFlag) Type() string { return "string" }

func (w *warehouseFlag) Set(address string) error {
	if given(w.flags, "warehouse") {
		w.others = append(w.others, address)
	} else {
		w.warehouse = address
	}
	return nil
}

// warehouses returns all warehouses of the command line.
func (c *common) warehouses() []string { return append([]string{c.warehouse}, c.others...) }

func (c *common) parseWarehouses() error {
	if len(c.others) > 0 && !c.several {
		return fmt.Errorf("--warehouse: corehour %s reads one, found %d: leave out all but one", c.flags.Name(), 1+len(c.others))
	}
	return nil
}

// alsoHTML declares HTML output, for commands that write a page.
func (c *common) alsoHTML() {
	c.html = true
	format := c.flags.Lookup("format")
	c.format, format.DefValue, format.Usage = string(output.HTML), string(output.HTML), "html, text, markdown or json"
}

// now is the clock.
var now = time.Now

// newCommon declares the common flags. since is the default of --since; empty means all times.
func newCommon(cmd *cobra.Command, since string) *common {
	f := cmd.Flags()
	c := &common{flags: f, spent: new(bigquery.Spent), verified: verifiedFiles()}
	c.warehouse = defaultWarehouse()
	f.Var((*warehouseFlag)(c), "warehouse", "`directory` that the collector's warehouse exporter writes to, gs://bucket, s3://bucket or bigquery://project/dataset; without it $COREHOUR_WAREHOUSE")
	f.StringVar(&c.maxBytes, "max-bytes-billed", defaultMaxBytes, "BigQuery: `bytes` that all queries of the command together may read, as 50GB")
	f.StringVar(&c.cacheSize, "cache-size", defaultCacheSize, "bucket: `bytes` of its files cached on the local disk")
	groupFlags(f, warehouseFlags, "warehouse", "max-bytes-billed", "cache-size")
	f.StringVar(&c.format, "format", "text", "text, json, markdown or csv")
	f.BoolVar(&c.json, "json", false, "short for --format json")
	f.BoolVar(&c.wide, "wide", false, "text: print all columns and whole names, not only what fits into 120 columns")
	groupFlags(f, outputFlags, "format", "json", "wide")
	f.StringVar(&c.from, "from", "", "start of the time window (`time`): 2026-11-21, \"2026-11-21 14:30\" or RFC 3339")
	f.StringVar(&c.to, "to", "", "end of the time window (`time`), exclusive (default: everything since the start)")
	f.StringVar(&c.since, "since", since, "instead of --from: `duration` to look back from --to, or from now if there is none or it is further ahead than that, as 90m, 24h or 7d")
	f.StringVar(&c.tz, "tz", "UTC", "time `zone` of times read and shown, as Europe/Berlin or Local; a time that occurs twice is the first for --from and the last for --to")
	groupFlags(f, timeFlags, "from", "to", "since", "tz")
	f.StringVar(&c.filter.Service, "service", "", "only this service (`name`)")
	f.StringVar(&c.filter.Namespace, "namespace", "", "only services of this service.namespace (`name`)")
	f.StringVar(&c.filter.Environment, "environment", "", "only this environment (`name`)")
	f.BoolVar(&c.noFrameworks, "no-frameworks", false, "leave out spans of OpenTelemetry's instrumentation libraries, as if they were not stored")
	groupFlags(f, filterFlags, "service", "namespace", "environment", "no-frameworks")
	c.completeFlags(cmd)
	return c
}

// verifiedFiles are remembered for the user's next command, if a cache directory exists.
func verifiedFiles() *parquet.VerifiedFiles {
	dir, err := bucket.DefaultCacheRoot()
	if err != nil {
		return parquet.NewVerifiedFiles("")
	}
	return parquet.NewVerifiedFiles(filepath.Join(dir, "verified"))
}

// checkFlags reports all faults of the flags. more checks the command's own flags.
func (c *common) checkFlags(more ...func() error) error {
	var errs []error
	var err error
	if c.out, err = formatOf(c.flags, c.format, c.json, c.html); err != nil {
		errs = append(errs, err)
	}
	if given(c.flags, "wide") && err == nil && c.out != output.Text {
		errs = append(errs, fmt.Errorf("--wide: has an effect on text only, found --format %s: leave one of them out", c.out))
	}
	if c.zone, err = time.LoadLocation(c.tz); err != nil || c.tz == "" {
		errs = append(errs, fmt.Errorf("--tz: want the name of a time zone like Europe/Berlin, UTC or Local, found %q", c.tz))
		c.zone = time.UTC
	}
	errs = append(errs, c.parseWindow(), c.parseWarehouses(), c.parseMaxBytes(), c.parseCacheSize())
	for _, check := range more {
		errs = append(errs, check())
	}
	return errors.Join(errs...)
}

// formatOf returns the format of --format and its short form --json.
func formatOf(f *pflag.FlagSet, format string, short, html bool) (output.Format, error) {
	switch {
	case short && given(f, "format") && format != string(output.JSON):
		return output.JSON, fmt.Errorf("--json and --format: want one of them, found --format %q too", format)
	case short:
		return output.JSON, nil
	case html && format == string(output.HTML):
		return output.HTML, nil
	}
	return output.ParseFormat(format)
}

// write writes the document in the selected format.
func (c *common) write(w io.Writer, d *output.Document) error {
	d.Wide = c.wide
	return d.Write(w, c.out)
}

func (c *common) parseWindow() error {
	from, to := given(c.flags, "from"), given(c.flags, "to")
	var errs []error
	if from && given(c.flags, "since") {
		errs = append(errs, fmt.Errorf("--since and --from: want one of them, found both"))
	}
	var err error
	if from {
		if c.window.From, err = parseTime("--from", c.from, c.zone, false); err != nil {
			errs = append(errs, err)
		}
	}
	if to {
		if c.window.To, err = parseTime("--to", c.to, c.zone, true); err != nil {
			errs = append(errs, err)
		}
	}
	if !from && c.since != "" {
		since, err := parseDuration("--since", c.since)
		if err != nil {
			errs = append(errs, err)
		}
		end := now()
		if to && c.window.To.Add(-since).Before(end) { // otherwise the whole window is in the future
			end = c.window.To
		}
		c.window.From = end.Add(-since)
	}
	w := c.window
	if len(errs) == 0 && !w.To.IsZero() && !w.From.Before(w.To) {
		errs = append(errs, fmt.Errorf("--from and --to: want a start before the end, found %s and %s", w.From.Format(time.RFC3339), w.To.Format(time.RFC3339)))
	}
	return errors.Join(errs...)
}

func parseTime(name, s string, zone *time.Location, last bool) (time.Time, error) {
	t, err := units.ParseTime(s, zone, last)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return t, err
}

// parseDuration parses Go's form, and days and weeks such as 7d and 2w.
func parseDuration(name, s string) (time.Duration, error) {
	const most = 200 * 365 * 24 * time.Hour
	var d units.Duration
	if err := d.UnmarshalText([]byte(s)); err != nil || d <= 0 || time.Duration(d) > most {
		return 0, fmt.Errorf("%s: want a duration above 0 like 90m, 24h or 7d, found %q", name, s)
	}
	return time.Duration(d), nil
}

// parseSpan is parseDuration, and also accepts 0.
func parseSpan(name, s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil && d == 0 {
		return 0, nil
	}
	return parseDuration(name, s)
}

// open opens the warehouse. All warehouses of a command share one bound.
func (c *common) open(ctx context.Context, window query.Window, options ...query.Option) (*query.Warehouse, error) {
	w, err := query.OpenAll(ctx, c.warehouses(), window, append(options, query.WithNotices(c.notices), query.CountBytes(c.spent), query.WithVerifiedFiles(c.verified), query.WithoutFrameworks(c.noFrameworks))...)
	return w, c.withNewest(err, window)
}

// withNewest adds the age of the newest row to an error about a window after it, and the flag that includes it.
func (c *common) withNewest(err error, window query.Window) error {
	var none *query.NoRows
	if !errors.As(err, &none) || none.Newest.IsZero() || !none.Newest.Before(window.From) {
		return err
	}
	age := now().Sub(none.Newest)
	flag := "--from " + none.Newest.UTC().Format(time.DateOnly)
	if since, parsed := parseDuration("--since", c.since); !given(c.flags, "from", "to") && parsed == nil {
		flag = "--since " + wholeHours(age+since)
	}
	return fmt.Errorf("%w; the newest row is %s old (%s): try %s", err, strings.TrimSuffix(age.Round(time.Minute).String(), "0s"), output.Time(none.Newest, c.zone), flag)
}

// wholeHours rounds a duration up to whole hours, or to whole days from two days on.
func wholeHours(d time.Duration) string {
	hours := int((d + time.Hour - 1) / time.Hour)
	if hours < 48 {
		return fmt.Sprintf("%dh", hours)
	}
	return fmt.Sprintf("%dd", (hours+23)/24)
}

// nothing returns the error for filters that no row passes.
func (c *common) nothing(ctx context.Context, w *query.Warehouse) error {
	return c.withNewest(w.NoRowsError(ctx, c.filter, c.window, c.zone), c.window)
}

func (c *common) noArguments() error {
	if c.flags.NArg() > 0 {
		return fmt.Errorf("want flags only, found the argument %q", c.flags.Arg(0))
	}
	return nil
}

// given reports whether one of the flags was set on the command line.
func given(f *pflag.FlagSet, names ...string) bool { return slices.ContainsFunc(names, f.Changed) }

// printError prints every fault on its own line.
func printError(w io.Writer, name string, err error) {
	name = strings.TrimSpace("corehour " + name)
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if strings.TrimSpace(line) != "" {
			fmt.Fprintf(w, "%s: %s\n", name, output.Printable(line))
		}
	}
}
