package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/bigquery"
	"github.com/corehour/corehour/internal/bucket"
	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/parquet"
	"github.com/corehour/corehour/internal/units"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

const defaultWarehouse = "./corehour-warehouse"

// common are the flags that all commands have.
type common struct {
	flags     *flag.FlagSet
	warehouse string
	others    []string // more of them, see several
	several   bool     // whether the command reads several warehouses
	format    string
	json      bool
	wide      bool
	from, to  string
	since     string
	tz        string
	filter    query.Filter
	// noFrameworks leaves out spans of frameworks.
	noFrameworks bool
	html         bool // whether the command writes it, by default then
	maxBytes     string
	cacheSize    string
	notices      io.Writer // for estimates of what queries read; nil = nowhere
	spent        *bigquery.Spent
	verified     *parquet.VerifiedFiles

	// What parse makes of them.
	out    output.Format
	zone   *time.Location
	window query.Window
}

// warehouseFlag is a flag that may be given several times.
type warehouseFlag common

func (w *warehouseFlag) String() string { return w.warehouse }

func (w *warehouseFlag) Set(address string) error {
	if given(w.flags, "warehouse") {
		w.others = append(w.others, address)
	} else {
		w.warehouse = address
	}
	return nil
}

// warehouses are all that were given.
func (c *common) warehouses() []string { return append([]string{c.warehouse}, c.others...) }

func (c *common) parseWarehouses() error {
	if len(c.others) > 0 && !c.several {
		return fmt.Errorf("--warehouse: corehour %s reads one, found %d: leave out all but one", c.flags.Name(), 1+len(c.others))
	}
	return nil
}

// alsoHTML is for commands that write a page.
func (c *common) alsoHTML() {
	c.html = true
	format := c.flags.Lookup("format")
	c.format, format.DefValue, format.Usage = string(output.HTML), string(output.HTML), "html, text, markdown or json"
}

// now is the clock.
var now = time.Now

// newFlags makes a command's set of flags: its help goes to stdout, its errors are
// returned.
func newFlags(name, arguments, usage string, stdout io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are ours to print, once
	f.Usage = func() {
		fmt.Fprintf(stdout, "usage: corehour %s [flags]%s\n\n%s\n\nflags:\n", name, arguments, usage)
		f.VisitAll(func(fl *flag.Flag) {
			value, what := flag.UnquoteUsage(fl)
			if value != "" {
				value = " " + value
			}
			def := ""
			if fl.DefValue != "" && fl.DefValue != "false" && fl.DefValue != "0" && !strings.Contains(what, "(default") {
				def = fmt.Sprintf(" (default %s)", fl.DefValue)
			}
			fmt.Fprintf(stdout, "  --%s%s\n        %s%s\n", fl.Name, value, what, def)
		})
	}
	return f
}

// newCommon declares the flags of a command. usage is what its help says above
// them, since the default of --since, empty = all times.
func newCommon(name, arguments, usage, since string, stdout io.Writer) *common {
	f := newFlags(name, arguments, usage, stdout)
	c := &common{flags: f, spent: new(bigquery.Spent), verified: verifiedFiles()}
	c.warehouse = defaultWarehouse
	f.Var((*warehouseFlag)(c), "warehouse", "`directory` that the collector's warehouse exporter writes to, gs://bucket, s3://bucket or bigquery://project/dataset")
	f.StringVar(&c.maxBytes, "max-bytes-billed", defaultMaxBytes, "BigQuery: `bytes` that all queries of the command together may read, as 50GB")
	f.StringVar(&c.cacheSize, "cache-size", defaultCacheSize, "bucket: `bytes` of its files that are kept on the local disk")
	f.StringVar(&c.format, "format", "text", "text, json, markdown or csv")
	f.BoolVar(&c.json, "json", false, "short for --format json")
	f.BoolVar(&c.wide, "wide", false, "text: print all columns and whole names, not only what fits into 120 columns")
	f.StringVar(&c.from, "from", "", "start of the `time` looked at: 2026-11-21, \"2026-11-21 14:30\" or RFC 3339")
	f.StringVar(&c.to, "to", "", "its end (`time`), not part of it (default: everything since the start)")
	f.StringVar(&c.since, "since", since, "instead of --from: `duration` to look back from --to, or from now if there is none or it is further ahead than that, as 90m, 24h or 7d")
	f.StringVar(&c.tz, "tz", "UTC", "time `zone` of times read and shown, as Europe/Berlin or Local; a time that occurs twice is the first for --from and the last for --to")
	f.StringVar(&c.filter.Service, "service", "", "only this service (`name`)")
	f.StringVar(&c.filter.Namespace, "namespace", "", "only services of this service.namespace (`name`)")
	f.StringVar(&c.filter.Environment, "environment", "", "only this environment (`name`)")
	f.BoolVar(&c.noFrameworks, "no-frameworks", false, "leave out spans of OpenTelemetry's instrumentation libraries, as if they were not stored")
	return c
}

// verifiedFiles are remembered for the user's next command, if there is a place for it.
func verifiedFiles() *parquet.VerifiedFiles {
	dir, err := bucket.DefaultCacheRoot()
	if err != nil {
		return parquet.NewVerifiedFiles("")
	}
	return parquet.NewVerifiedFiles(filepath.Join(dir, "verified"))
}

var undefinedFlag = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)

// parseFlags says what is wrong in the words of this command.
func parseFlags(f *flag.FlagSet, args []string) error {
	help := f.Usage
	f.Usage = func() {} // the package would print it for every error
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			help()
			return err
		}
		if m := undefinedFlag.FindStringSubmatch(err.Error()); m != nil {
			var names []string
			f.VisitAll(func(fl *flag.Flag) { names = append(names, fl.Name) })
			hint := configfile.DidYouMean(m[1], names)
			if strings.HasPrefix(hint, "did you mean ") {
				hint = strings.Replace(hint, `"`, `"--`, 1)
				return fmt.Errorf("unknown flag --%s: %s", m[1], hint)
			}
			return fmt.Errorf("unknown flag --%s: see corehour %s --help", m[1], f.Name())
		}
		return flagError(f, err)
	}
	return nil
}

var (
	invalidValue = regexp.MustCompile(`^invalid (?:boolean )?value "((?s:.*))" for (?:flag )?-(\S+): `)
	noValue      = regexp.MustCompile(`^flag needs an argument: -(.*)$`)
	badSyntax    = regexp.MustCompile(`^bad flag syntax: ((?s:.*))$`)
)

// flagError puts what package flag says into the form of our errors.
func flagError(f *flag.FlagSet, err error) error {
	text := err.Error()
	if m := invalidValue.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("--%s: want %s, found %q", m[2], wantedBy(f, m[2]), m[1])
	}
	if m := noValue.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("--%s: want %s, found nothing after it", m[1], wantedBy(f, m[1]))
	}
	if m := badSyntax.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%q is no flag: want --name or --name=value; corehour %s --help lists them", m[1], f.Name())
	}
	return err
}

// wantedBy says what kind of value a flag takes.
func wantedBy(f *flag.FlagSet, name string) string {
	fl := f.Lookup(name)
	if fl == nil {
		return "a value"
	}
	if g, ok := fl.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case bool:
			return "true or false, or nothing after it"
		case int, int64, uint, uint64:
			return "a whole number like 20"
		case float64:
			return "a number like 2.5"
		case time.Duration:
			return "a duration like 90s or 5m"
		}
	}
	if what, _ := flag.UnquoteUsage(fl); what != "" && what != "value" && what != "string" {
		return "a value (" + what + ")"
	}
	return "a value"
}

// parseMixed is parseFlags for commands whose arguments may stand before, between and behind
// the flags. It returns the arguments.
func parseMixed(f *flag.FlagSet, args []string) (arguments []string, err error) {
	for {
		if err := parseFlags(f, args); err != nil {
			return nil, err
		}
		left := f.Args()
		ended := len(left) < len(args) && args[len(args)-len(left)-1] == "--" // the rest are no flags
		if len(left) == 0 || ended {
			return append(arguments, left...), nil
		}
		arguments, args = append(arguments, left[0]), left[1:]
	}
}

// parse reads the arguments and reports all that is wrong with them. more checks
// the command's own flags.
func (c *common) parse(args []string, more ...func() error) error {
	if err := parseFlags(c.flags, args); err != nil {
		return err
	}
	return c.checkFlags(more...)
}

// checkFlags is parse once the flags were read.
func (c *common) checkFlags(more ...func() error) error {
	var errs []error
	var err error
	if c.out, err = formatOf(c.flags, c.format, c.json, c.html); err != nil {
		errs = append(errs, err)
	}
	if given(c.flags, "wide") && err == nil && c.out != output.Text {
		errs = append(errs, fmt.Errorf("--wide: is about text, found --format %s: leave one of them out", c.out))
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

// formatOf reads --format and its short form --json.
func formatOf(f *flag.FlagSet, format string, short, html bool) (output.Format, error) {
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

// write writes what was found in the format that was asked for.
func (c *common) write(w io.Writer, d *output.Document) error {
	d.Wide = c.wide
	return d.Write(w, c.out)
}

func (c *common) parseWindow() error {
	given := map[string]bool{}
	c.flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var errs []error
	if given["from"] && given["since"] {
		errs = append(errs, fmt.Errorf("--since and --from: want one of them, found both"))
	}
	var err error
	if given["from"] {
		if c.window.From, err = parseTime("--from", c.from, c.zone, false); err != nil {
			errs = append(errs, err)
		}
	}
	if given["to"] {
		if c.window.To, err = parseTime("--to", c.to, c.zone, true); err != nil {
			errs = append(errs, err)
		}
	}
	if !given["from"] && c.since != "" {
		since, err := parseDuration("--since", c.since)
		if err != nil {
			errs = append(errs, err)
		}
		end := now()
		if given["to"] && c.window.To.Add(-since).Before(end) { // else all of it is to come
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

// parseTime reads a time with an offset, or one of the clocks of a zone. Where these show
// a time twice, at the end of summer time, last says which is meant: a start is the first
// and an end the last, so that the window holds the hour that occurs twice.
func parseTime(name, s string, zone *time.Location, last bool) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return onClocks(t, zone, last), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: want a time like 2026-11-21, \"2026-11-21 14:30\" or 2026-11-21T14:30:00Z, found %q", name, s)
}

// onClocks is the instant at which the clocks of a zone show what t says in UTC, the last one
// or the first. A time that is skipped is the instant at which the clocks are put forward.
func onClocks(t time.Time, zone *time.Location, last bool) time.Time {
	var found []time.Time
	for _, around := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := t.Add(around).In(zone).Zone()
		at := t.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, is := at.Zone(); is == offset {
			found = append(found, at)
		}
	}
	switch {
	case len(found) == 0:
		_, before := t.Add(-24 * time.Hour).In(zone).Zone()
		start, _ := t.Add(-time.Duration(before) * time.Second).In(zone).ZoneBounds()
		return start
	case last:
		return found[len(found)-1]
	}
	return found[0]
}

// parseDuration reads Go's form, and days and weeks as 7d and 2w.
func parseDuration(name, s string) (time.Duration, error) {
	const most = 200 * 365 * 24 * time.Hour
	var d units.Duration
	if err := d.UnmarshalText([]byte(s)); err != nil || d <= 0 || time.Duration(d) > most {
		return 0, fmt.Errorf("%s: want a duration above 0 like 90m, 24h or 7d, found %q", name, s)
	}
	return time.Duration(d), nil
}

// parseSpan is parseDuration, and 0 is one.
func parseSpan(name, s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil && d == 0 {
		return 0, nil
	}
	return parseDuration(name, s)
}

// open opens the warehouse. One bound holds for all that a command opens.
func (c *common) open(ctx context.Context, window query.Window, options ...query.Option) (*query.Warehouse, error) {
	return query.OpenAll(ctx, c.warehouses(), window, append(options, query.Tell(c.notices), query.Counting(c.spent), query.Remembering(c.verified), query.LeaveOutFrameworks(c.noFrameworks))...)
}

func (c *common) noArguments() error {
	if c.flags.NArg() > 0 {
		return fmt.Errorf("want flags only, found the argument %q", c.flags.Arg(0))
	}
	return nil
}

// printError prints every fault on a line of its own.
func printError(w io.Writer, name string, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if strings.TrimSpace(line) != "" {
			fmt.Fprintf(w, "corehour %s: %s\n", name, output.Printable(line))
		}
	}
}
