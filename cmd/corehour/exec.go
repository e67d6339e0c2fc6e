package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/background"
	"github.com/corehour/corehour/internal/measuredrun"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// execFlags holds the flags of exec. Its cost flags are a part of cost's.
type execFlags struct {
	settings measuredrun.Settings
	binaries string
	file     string
	costs    *costFlags
}

func newExecCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec [flags] -- PROGRAM [ARGUMENT...]",
		Short: "Run a program, and print what its methods cost",
		Long: `Runs a program with a collector and a warehouse of its own, and prints its cost table to standard
error when it has ended. The program, and what it starts, has the SDK or a stock OpenTelemetry SDK;
its environment sends them to that collector. Input, output, signals and exit code are the program's.
The warehouse is deleted unless --warehouse is given. It needs corehour-collector next to this binary.`,
		Example: `  corehour exec -- ./shop --port 8080
  corehour exec --rate 1 --percentiles --output costs.txt -- go test ./...
  corehour exec --warehouse runs -- ./batch && corehour cost --warehouse runs`,
		Annotations: exits("0-255 that of PROGRAM; 128 and the number of the signal that ended it\n" +
			"2 failed before PROGRAM was started\n126 PROGRAM cannot be executed\n127 PROGRAM was not found"),
	}
	e := &execFlags{costs: newCostFlags(&cobra.Command{Use: "cost"}, "")}
	e.costs.verified = parquet.NewVerifiedFiles("") // exec leaves no files behind
	f := cmd.Flags()
	f.SetInterspersed(false)
	declareBinaries(f, &e.binaries)
	f.Float64Var(&e.settings.Rate, "rate", 0.01, "`share` of calls timed, 0 to 1, of methods whose rate neither the code nor COREHOUR_METHODS sets; all are counted")
	f.StringVar(&e.settings.Warehouse, "warehouse", "", "warehouse that rows are added to, or new or empty `directory` for one, which is kept (default: a temporary one, which is deleted)")
	f.StringVar(&e.file, "output", "", "`file` for the table (default: standard error)")
	groupFlags(f, outputFlags, "output")
	groupFlags(f, warehouseFlags, "warehouse")
	per := e.costs.flags.Lookup("per")
	e.costs.per, per.DefValue = string(cost.PerWindow), string(cost.PerWindow)
	for _, name := range []string{"by", "per", "percentiles", "prices", "top", "all", "format", "json", "wide", "tz"} {
		f.AddFlag(e.costs.flags.Lookup(name))
	}
	completeFlag(cmd, "warehouse", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	return withWork(cmd, func(ctx context.Context, _, stderr io.Writer) (int, error) {
		e.settings.Program = f.Args()
		return e.measure(ctx, stderr)
	})
}

// measure runs the program. After its start, failures are printed, and the exit code is the program's.
func (e *execFlags) measure(ctx context.Context, stderr io.Writer) (int, error) {
	e.costs.notices = stderr
	if err := e.checkBy(); err != nil {
		return exitFailed, err
	}
	if err := e.costs.checkFlags(e.costs.check, e.check); err != nil {
		return exitFailed, err
	}
	if err := e.costs.loadPrices(stderr); err != nil {
		return exitFailed, err
	}
	to := stderr
	if e.file != "" {
		file, err := os.Create(e.file)
		if err != nil {
			return exitFailed, fmt.Errorf("--output: %w", err)
		}
		defer file.Close()
		to = file
	}
	o, err := measuredrun.Run(ctx, e.settings)
	if not := (*measuredrun.NotStarted)(nil); errors.As(err, &not) {
		printError(stderr, "exec", err)
		return not.ExitCode, nil
	}
	if err != nil {
		return exitFailed, err
	}
	defer o.Close()
	if err := e.report(context.WithoutCancel(ctx), o, to, stderr); err != nil { // a signal was meant for the program
		printError(stderr, "exec", err)
	}
	return o.ExitCode, nil
}

// checkBy rejects groupings that need a file which exec does not read.
func (e *execFlags) checkBy() error {
	if by, err := cost.ParseBy(e.costs.by); err == nil && slices.Contains(by, cost.ByOwner) {
		return errors.New("--by owner: no file of owners is read here: give --warehouse DIRECTORY, then run corehour cost --warehouse DIRECTORY --by owner --owners FILE")
	}
	return nil
}

func (e *execFlags) check() (err error) {
	var errs []error
	if len(e.settings.Program) == 0 {
		errs = append(errs, errors.New("want a program to run, found none: corehour exec -- PROGRAM [ARGUMENT...]"))
	}
	if !(e.settings.Rate >= 0 && e.settings.Rate <= 1) {
		errs = append(errs, fmt.Errorf("--rate: want 0 to 1, found %v", e.settings.Rate))
	}
	if dir := e.settings.Warehouse; strings.Contains(dir, "://") {
		errs = append(errs, fmt.Errorf("--warehouse: want a local directory, found %q", dir))
	} else if entries, err := os.ReadDir(dir); len(entries) > 0 {
		if _, err := table.OpenReadable(dir); err != nil && !errors.Is(err, warehouse.ErrEmpty) { // ErrEmpty: an earlier run sent nothing
			errs = append(errs, fmt.Errorf("--warehouse: want a warehouse, or a new or empty directory, found %q with %d entries: %w", dir, len(entries), err))
		}
	} else if err != nil && dir != "" && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("--warehouse: want a warehouse, or a new or empty directory: %w", err))
	}
	e.settings.Collector, err = background.Binary(e.binaries, "corehour-collector")
	return errors.Join(append(errs, err)...)
}

// report prints the costs of the program, and the missing calls.
func (e *execFlags) report(ctx context.Context, o *measuredrun.Outcome, to, stderr io.Writer) error {
	program := output.Printable(strings.Join(e.settings.Program, " "))
	say := func(format string, args ...any) { fmt.Fprintf(stderr, "corehour exec: "+format+"\n", args...) }
	say("%s: exit code %d after %s; %.4g%% of calls timed (--rate)", program, o.ExitCode, o.Took.Round(time.Millisecond), 100*e.settings.Rate)
	if o.Fault != nil {
		printError(stderr, "exec", fmt.Errorf("what the program sent may be missing below: %w", o.Fault))
	}
	if dir := e.settings.Warehouse; dir != "" {
		say("the warehouse is kept: corehour cost --warehouse %s", output.Printable(dir))
	}
	e.costs.warehouse, e.costs.window.From, e.costs.options.Uncut = o.Warehouse, o.Began, true
	w, r, err := e.costs.compute(ctx)
	switch {
	case err == nil:
		defer w.Close()
	case !errors.Is(err, query.ErrNoData):
		return err
	}
	if r == nil || r.NoCalls() {
		if o.Fault != nil {
			return errors.New("no method spans are stored")
		}
		say("%s sent no method spans. The likely causes:", program)
		say("- no SDK was started and shut down: build it with corehour go build; or call corehour.Start, Begin and End of a corehour.NewMethod, and the shutdown that Start returned, before os.Exit and on signals")
		say("- its code names a collector: WithEndpoint wins over the environment; leave it out")
		return nil
	}
	pending := false
	for i := range r.Services {
		if s := &r.Services[i]; s.PendingRecords > 0 {
			pending = true
			say("service %s ended without its last counts: call the shutdown that corehour.Start returned before os.Exit, and on signals", output.Printable(s.Service.Name))
		}
	}
	if !pending && r.Records == 0 && !slices.ContainsFunc(r.Lines(), func(l cost.Line) bool { return l.Measured > 0 }) {
		say("no call was timed: a short program needs --rate 1")
	}
	return e.costs.write(to, e.costs.document(r, now().Add(time.Hour))) // all counts have arrived, so none is overdue
}
