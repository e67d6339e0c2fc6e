package bigquery

import (
	"context"
	"fmt"
	"net/http"
)

// prepare makes sure of the table and the view.
func (o *Options) prepare(ctx context.Context, rest *REST) error {
	if _, _, err := rest.EnsureTable(ctx, o.Dataset, o.Expiration); err != nil {
		return err
	}
	return o.prepareView(ctx, rest)
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
