package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// commandLine is a command whose output is compared.
type commandLine struct {
	name string
	args []string
}

// commandLines returns all commands that report on one service, in every format.
func commandLines(end time.Time) (lines []commandLine) {
	window := []string{"--from", end.Add(-40 * time.Minute).UTC().Format(time.RFC3339), "--to", end.UTC().Format(time.RFC3339), "--service", victim, "--namespace", victimNamespace}
	for _, c := range []struct {
		command []string
		formats string
	}{
		{[]string{"cost"}, "text json markdown csv"},
		{[]string{"regress"}, "text json markdown"},
		{[]string{"drift"}, "text json markdown"},
		{[]string{"report"}, "text json markdown html"},
		{[]string{"check"}, "text json markdown"},
		{[]string{"explain", "shop/cart.Cart.Total"}, "text json markdown"},
	} {
		for _, format := range strings.Fields(c.formats) {
			lines = append(lines, commandLine{
				strings.Join(c.command, " ") + " --format " + format,
				append(append(append([]string{}, c.command...), window...), "--format", format),
			})
		}
	}
	return lines
}

// notOfService matches text that does not belong to the service: the time of a report, and the
// figures of check about the whole warehouse.
var notOfService = regexp.MustCompile(`(?m)"(made|raised_at)": "[^"]*"|(made|raised) [0-9-]+[ T][0-9:]+( UTC|Z)|, [0-9hms.]+ ago|^schema version .*$|^ *"(generation|files|rows|freshness_p99_seconds)": .*$`)

// longNumber matches numbers with more digits than sums of the same numbers in different order have
// in common.
var longNumber = regexp.MustCompile(`-?[0-9]+\.[0-9]{6,}(e-?[0-9]+)?`)

func rounded(number string) string {
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	return strconv.FormatFloat(v, 'g', 10, 64)
}

// askOfAll runs the commands for all stored services, as printed on a terminal.
func (p *played) askOfAll(ctx context.Context, command harness.Command, end time.Time) error {
	for _, name := range []string{"cost", "regress", "drift", "check", "report"} {
		began := time.Now()
		o, err := command.Run(ctx, name, "--from", end.Add(-40*time.Minute).UTC().Format(time.RFC3339), "--to", end.UTC().Format(time.RFC3339), "--format", "text")
		if err != nil {
			return err
		}
		if o.Code == harness.ExitFailed {
			return fmt.Errorf("%s", o)
		}
		p.longest = max(p.longest, float64(strings.Count(string(o.Stdout), "\n")))
		p.slowest = max(p.slowest, time.Since(began).Seconds())
	}
	return nil
}

// ask runs the commands of the service.
func (p *played) ask(ctx context.Context, command harness.Command, end time.Time) error {
	p.printed = map[string]string{}
	for _, line := range commandLines(end) {
		o, err := command.Run(ctx, line.args[0], line.args[1:]...)
		if err != nil {
			return err
		}
		if o.Code == harness.ExitFailed {
			return fmt.Errorf("%s", o)
		}
		text := strings.ReplaceAll(string(o.Stdout), command.Warehouse, "WAREHOUSE") + string(o.Stderr)
		p.printed[line.name] = fmt.Sprintf("exit %d\n%s", o.Code, longNumber.ReplaceAllStringFunc(notOfService.ReplaceAllString(text, ""), rounded))
	}
	var rows []struct {
		Service string  `json:"service"`
		Calls   float64 `json:"calls"`
	}
	if err := command.SQL(ctx, &rows, `SELECT service, SUM(calls) AS calls FROM method_calls WHERE service_namespace = 'store' AND service IN ('shop', 'billing') OR service = 'web' AND version = '1.0' GROUP BY service`); err != nil {
		return err
	}
	for _, row := range rows {
		switch row.Service {
		case victim:
			p.calls = row.Calls
		case forgedVictim:
			p.forged = row.Calls
		case stockVictim:
			p.stockCalls = row.Calls
		}
	}
	o, err := command.Run(ctx, "check", "--format", "json", "--service", forgedVictim, "--since", "2h")
	if err != nil {
		return err
	}
	var check struct {
		Services []struct {
			Conflicting float64 `json:"conflicting_batches"`
		} `json:"services"`
	}
	if err := json.Unmarshal(o.Stdout, &check); err != nil {
		return fmt.Errorf("%w: %s", err, o)
	}
	for _, s := range check.Services {
		p.conflicts += s.Conflicting
	}
	return nil
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(a, b string) string {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i, line := range linesA {
		if i >= len(linesB) || linesB[i] != line {
			other := "(nothing)"
			if i < len(linesB) {
				other = linesB[i]
			}
			return fmt.Sprintf("line %d\n  alone:    %.300s\n  attacked: %.300s", i+1, line, other)
		}
	}
	return fmt.Sprintf("%d more lines", len(linesB)-len(linesA))
}

func peakMemory(pid int) (float64, error) {
	bytes, err := harness.PeakMemoryOf(pid)
	return float64(bytes) / (1 << 20), err
}
