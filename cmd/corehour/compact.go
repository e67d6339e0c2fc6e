package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// compactCall holds the flags of compact.
type compactCall struct {
	job      maintain.Job
	out      output.Format
	wide     bool
	delete   string
	from, to string // of --relabel
	yes      bool

	// Texts of flags, until check parses them.
	format, cacheSize, maxBytes, minFree string
	json                                 bool

	dropDamaged    bool
	dropImpossible bool
	age            map[string]*string
	relabelled     string
	cacheBytes     int64
	directory      string // of --import
}

func newCompactCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compact [flags]",
		Short: "Maintain a warehouse: merge, roll up, expire",
		Long: `Maintains a warehouse, as the collector does by itself: merges small files of a day, keeps hourly
rollups next to raw rows, deletes replaced files. Flags allow what loses detail: rolling old days up,
dropping ids or days. Deleting, relabelling and dropping damaged or impossible data are dry runs
without --yes. In a bucket it maintains prefixes without a running collector. Ages are from the end of
a UTC day: 36h, 7d, 4w. See docs/README.md.`,
		Example: `  corehour compact --dry-run
  corehour compact --hour-after 7d --keep-raw 30d --keep-rollups 365d
  corehour compact --delete-service shop --yes`,
		Annotations: exits("0 done, or nothing to do\n2 failed; other days and prefixes were maintained\n" +
			"3 not now, nothing was done: other maintenance runs, no rows, no such service, or every prefix is held"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	call := &compactCall{age: map[string]*string{}}
	call.declare(cmd.Flags())
	return withWork(cmd, func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		if err := call.check(cmd.Flags()); err != nil {
			return exitFailed, err
		}
		return call.maintain(ctx, stdout, stderr)
	})
}

// maintain does the work that the flags select.
func (c *compactCall) maintain(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	if c.directory != "" {
		if err := c.importDirectory(ctx, stdout); err != nil {
			return exitFailed, err
		}
		return exitNothing, nil
	}
	c.job.Done = func(s maintain.Step) {
		if c.out == output.Text && !c.job.DryRun {
			fmt.Fprintf(stderr, "corehour compact: %s\n", stepLine(s))
		}
	}
	c.job.Parquet.Now = func() time.Time { return now() }
	var report *compactReport
	var err error
	if query.IsBucket(c.job.Root) {
		report, err = c.inBucket(ctx, stderr)
	} else {
		report = &compactReport{}
		report.Result, err = c.runJob(ctx, &c.job)
	}
	if notNow(err) && len(report.Steps) == 0 {
		printError(stderr, "compact", err)
		return exitCannotTell, nil
	}
	if err != nil && len(report.Steps) == 0 && len(report.LeftAlone) == 0 {
		return exitFailed, err
	}
	if err == nil && c.ofService() && len(report.Steps) == 0 && len(report.LeftAlone) == 0 {
		printError(stderr, "compact", c.noRows(report.Others))
		return exitCannotTell, nil
	}
	return exitNothing, errors.Join(err, c.write(stdout, compactDocument(report, c)))
}

func (c *compactCall) write(w io.Writer, d *output.Document) error {
	d.Wide = c.wide
	return d.Write(w, c.out)
}

// notNow reports whether nothing could be done at this time, although the warehouse is in order.
func notNow(err error) bool {
	return errors.Is(err, warehouse.ErrLocked) || errors.Is(err, warehouse.ErrEmpty) || errors.Is(err, errAllHeld)
}

// runJob does the selected work on one warehouse.
func (c *compactCall) runJob(ctx context.Context, job *maintain.Job) (*maintain.Result, error) {
	switch {
	case c.delete != "":
		return job.DeleteService(ctx, c.delete)
	case c.from != "":
		return job.RelabelService(ctx, c.from, c.to)
	case c.dropDamaged:
		return job.DropDamaged(ctx)
	case c.dropImpossible:
		return job.DropImpossible(ctx)
	}
	return job.Run(ctx)
}

func (c *compactCall) declare(f *pflag.FlagSet) {
	p := &c.job.Policy
	p.SumRows = maintain.DefaultSumRows
	f.StringVar(&c.job.Root, "warehouse", defaultWarehouse(), "`directory` that the collector's warehouse exporter writes to, or gs://bucket, s3://bucket: there, prefixes without a running collector; without it $COREHOUR_WAREHOUSE")
	f.StringVar(&c.cacheSize, "cache-size", defaultCacheSize, "bucket: `bytes` of its files that are on the local disk at a time")
	f.StringVar(&c.format, "format", "text", "text, json, markdown or csv")
	f.BoolVar(&c.json, "json", false, "short for --format json")
	f.BoolVar(&c.wide, "wide", false, "text: do not fit lines into 120 columns")
	f.BoolVar(&c.job.DryRun, "dry-run", false, "print what would be done, and do not do it; only files that earlier runs replaced are deleted")
	f.IntVar(&p.MaxFiles, "max-files", maintain.DefaultMaxFiles, "merge a day's small files if it has more files of raw rows than this `number`")
	age := func(name, what string) {
		c.age[name] = f.String(name, "", what)
	}
	age("minute-after", "roll up by minute the days of this `age`")
	age("hour-after", "roll up by hour the days of this `age`")
	age("keep-raw", "drop raw rows of days of this `age`")
	age("keep-ids", "drop ids of traces and requests from raw rows of this `age`")
	age("keep-rollups", "drop rolled-up days of this `age`")
	f.StringVar(&c.maxBytes, "max-bytes", "", "with --drop-oldest: drop the oldest days while the warehouse (in a bucket: each prefix) has more `bytes`, as 50GB")
	f.StringVar(&c.minFree, "min-free-bytes", "", "with --drop-oldest: drop the oldest days while the file system has fewer free `bytes`, as 1GB")
	f.BoolVar(&p.DropOldest, "drop-oldest", false, "allow --max-bytes and --min-free-bytes to drop the oldest days")
	f.StringVar(&c.delete, "delete-service", "", "delete the stored rows of a service (`name`)")
	f.StringVar(&c.relabelled, "relabel", "", "rename a service in stored rows: `old=new`")
	f.StringVar(&c.directory, "import", "", "bucket: import rows that a collector's `directory` (its option path) holds and never uploaded")
	f.BoolVar(&c.dropDamaged, "drop-damaged", false, "remove files that are damaged or missing and have no copy; their rows are lost")
	f.BoolVar(&c.dropImpossible, "drop-impossible", false, "remove impossible numbers from rows: commands print the same, except for the rows that check lists as impossible")
	f.BoolVar(&c.yes, "yes", false, "apply what --delete-service, --relabel, --drop-damaged or --drop-impossible would do")
	groupFlags(f, policyFlags, "max-files", "minute-after", "hour-after", "keep-raw", "keep-ids", "keep-rollups", "max-bytes", "min-free-bytes", "drop-oldest")
	groupFlags(f, outputFlags, "format", "json", "wide")
	groupFlags(f, warehouseFlags, "warehouse", "cache-size")
}

// check reports all faults of the flags, and derives settings from them.
func (c *compactCall) check(f *pflag.FlagSet) error {
	p := &c.job.Policy
	var errs []error
	var err error
	if c.out, err = formatOf(f, c.format, c.json, false); err != nil {
		errs = append(errs, err)
	}
	if f.NArg() > 0 {
		errs = append(errs, fmt.Errorf("want flags only, found the argument %q", f.Arg(0)))
	}
	for name, into := range map[string]*time.Duration{
		"minute-after": &p.MinuteAfter, "hour-after": &p.HourAfter, "keep-raw": &p.KeepRaw, "keep-ids": &p.KeepIDs, "keep-rollups": &p.KeepRollups,
	} {
		if text := *c.age[name]; text != "" {
			if *into, err = parseDuration("--"+name, text); err != nil {
				errs = append(errs, err)
			}
		}
	}
	for _, bound := range []struct {
		name, text string
		into       *int64
	}{{"--max-bytes", c.maxBytes, &p.MaxBytes}, {"--min-free-bytes", c.minFree, &p.MinFree}} {
		if bound.text == "" {
			continue
		}
		if *bound.into, err = parseBytes(bound.name, bound.text); err != nil {
			errs = append(errs, err)
		} else if !p.DropOldest && !c.needsYes() {
			errs = append(errs, fmt.Errorf("%s %s has no effect without --drop-oldest: add it, or leave this out", bound.name, bound.text))
		}
	}
	if query.IsBucket(c.job.Root) {
		if c.cacheBytes, err = parseBytes("--cache-size", c.cacheSize); err != nil {
			errs = append(errs, err)
		}
		if p.MinFree > 0 {
			errs = append(errs, errors.New("--min-free-bytes has no effect on a bucket: use --max-bytes"))
		}
	} else if c.cacheSize != defaultCacheSize {
		errs = append(errs, errors.New(cacheSizeHasNoEffect))
	}
	if c.directory != "" {
		errs = append(errs, c.checkImport(f))
	}
	if len(errs) == 0 {
		errs = append(errs, p.Validate(flagOf))
	}
	errs = append(errs, c.parseService(f))
	return errors.Join(errs...)
}

// flagOf returns the flag of a field of the policy.
func flagOf(field string) string {
	return "--" + strings.ReplaceAll(field, "_", "-")
}

// checkImport rejects flags that have no effect on an import.
func (c *compactCall) checkImport(f *pflag.FlagSet) error {
	if !query.IsBucket(c.job.Root) {
		return fmt.Errorf("--import: want the bucket of the directory as --warehouse, found %q", c.job.Root)
	}
	var errs []error
	f.Visit(func(fl *pflag.Flag) {
		if fl.Name != "import" && fl.Name != "warehouse" && fl.Name != "format" {
			errs = append(errs, fmt.Errorf("--%s has no effect with --import", fl.Name))
		}
	})
	return errors.Join(errs...)
}
