package bigquery

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// prepare creates or updates the table and the view.
func (o *Options) prepare(ctx context.Context, rest *REST) error {
	table, _, err := rest.EnsureTable(ctx, o.Dataset, o.Expiration)
	if err != nil {
		return err
	}
	o.warnOfExpiration(table)
	return o.prepareView(ctx, rest)
}

// warnOfExpiration warns if the table keeps its days for another time than the option, which
// applies only when the table is created. It also warns if the table itself expires.
func (o *Options) warnOfExpiration(t *Table) {
	if ms, _ := strconv.ParseInt(t.TimePartitioning.ExpirationMS, 10, 64); ms != o.Expiration.Milliseconds() {
		o.Warn(fmt.Sprintf("The table %s.%s keeps a day %s, and `partition_expiration` is %s, which applies only when the table is created: change one of them.",
			o.Dataset, TableName, retentionText(time.Duration(ms)*time.Millisecond), retentionText(o.Expiration)))
	}
	if ms, _ := strconv.ParseInt(t.ExpirationTime, 10, 64); ms != 0 {
		o.Warn(fmt.Sprintf("The table %s.%s expires at %s with all its rows: remove its expiration time.", o.Dataset, TableName, time.UnixMilli(ms).UTC().Format(time.RFC3339)))
	}
}

// retentionText returns d for a message; 0 means for ever.
func retentionText(d time.Duration) string {
	if d == 0 {
		return "for ever"
	}
	return "for " + d.String()
}

// recreateTable creates the table if it was dropped. Another collector may already have created it.
func (o *Options) recreateTable(ctx context.Context, rest *REST) error {
	_, made, err := rest.EnsureTable(ctx, o.Dataset, o.Expiration)
	if err != nil || !made {
		return err
	}
	o.Warn(fmt.Sprintf("The table %s.%s was missing and is created again, without its earlier rows.", o.Dataset, TableName))
	return o.prepareView(ctx, rest)
}

// prepareView creates or updates the view. Without the permission it only warns: the view is only
// for queries by other tools.
func (o *Options) prepareView(ctx context.Context, rest *REST) error {
	err := rest.EnsureView(ctx, o.Dataset)
	if HasStatus(err, http.StatusForbidden) {
		o.Warn(err.Error())
		return nil
	}
	return err
}
