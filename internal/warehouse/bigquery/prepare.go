package bigquery

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// prepare makes sure of the table and the view.
func (o *Options) prepare(ctx context.Context, rest *REST) error {
	table, _, err := rest.EnsureTable(ctx, o.Dataset, o.Expiration)
	if err != nil {
		return err
	}
	o.warnOfExpiration(table)
	return o.prepareView(ctx, rest)
}

// warnOfExpiration warns if the table keeps its days for another time than the option
// says, which counts only when the table is made.
func (o *Options) warnOfExpiration(t *Table) {
	if ms, _ := strconv.ParseInt(t.TimePartitioning.ExpirationMS, 10, 64); ms != o.Expiration.Milliseconds() {
		o.Warn(fmt.Sprintf("The table %s.%s keeps a day %s, and `partition_expiration` says %s, which counts only when the table is made: change one of them.",
			o.Dataset, TableName, keptFor(time.Duration(ms)*time.Millisecond), keptFor(o.Expiration)))
	}
	if ms, _ := strconv.ParseInt(t.ExpirationTime, 10, 64); ms != 0 {
		o.Warn(fmt.Sprintf("The table %s.%s expires at %s with all its rows: take its expiration time away.", o.Dataset, TableName, time.UnixMilli(ms).UTC().Format(time.RFC3339)))
	}
}

func keptFor(d time.Duration) string {
	if d == 0 {
		return "for ever"
	}
	return "for " + d.String()
}

// remake makes the table again if it was dropped. Another collector may have done so.
func (o *Options) remake(ctx context.Context, rest *REST) error {
	_, made, err := rest.EnsureTable(ctx, o.Dataset, o.Expiration)
	if err != nil || !made {
		return err
	}
	o.Warn(fmt.Sprintf("The table %s.%s was gone and is made again, without the rows that it had.", o.Dataset, TableName))
	return o.prepareView(ctx, rest)
}

// prepareView does without the view where the account may not make it: only queries by
// other tools need it.
func (o *Options) prepareView(ctx context.Context, rest *REST) error {
	err := rest.EnsureView(ctx, o.Dataset)
	if HasStatus(err, http.StatusForbidden) {
		o.Warn(err.Error())
		return nil
	}
	return err
}
