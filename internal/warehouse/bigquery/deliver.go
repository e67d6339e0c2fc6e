package bigquery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/corehour/corehour/internal/methodspan"
)

const (
	// deliveryAttempts is how often a request is sent, without or with short pauses, before the
	// write fails. The exporter then waits longer.
	deliveryAttempts = 4
	// quotaPause bounds the pause that the service may ask for.
	quotaPause = 30 * time.Second
)

// deliver sends a request, whose intent is on disk, until its outcome is known. If the outcome
// stays unknown the request becomes pending; any other error means that the request is not stored.
// sent reports that an earlier attempt had an unknown outcome.
func (w *Writer) deliver(ctx context.Context, r *request, in *intent, sent bool, t *writeResult) error {
	var a answer
	for n := range deliveryAttempts {
		if n > 0 {
			w.reconnects.Add(1)
			if !pause(ctx, w.opts.firstPause<<n) {
				break
			}
		}
		a = w.sendOnce(ctx, r, in)
		switch a.verdict {
		case verdictStored:
			w.recordStored(r, in, t)
			return nil
		case verdictUnknown, verdictNotSent:
			sent = sent || a.verdict == verdictUnknown
			w.disconnect()
			continue
		case verdictBadRows:
			left, err := w.withoutRefusedRows(r, a.rows)
			w.journal.end(in, false)
			if err != nil {
				return err
			}
			return w.storeRequest(ctx, left, t)
		case verdictStreamLost, verdictStreamUnusable:
			return w.endStream(ctx, r, in, sent, a, t)
		}
		break
	}
	if sent {
		return w.endStream(ctx, r, in, sent, a, t)
	}
	if a.verdict == verdictQuota && a.retryAfter > 0 {
		pause(ctx, min(a.retryAfter, quotaPause))
	}
	w.journal.end(in, false)
	return w.deliveryError(a)
}

// deliveryError returns the error of a request that is not stored.
func (w *Writer) deliveryError(a answer) error {
	e := w.fail("append rows", nil, a.err)
	switch {
	case a.verdict == verdictColumnsUnseen:
		e.Hint = "columns were added to the table; streams see them after some minutes"
	case a.verdict == verdictQuota:
		e.Hint = "a quota of the project is used up; rows wait"
	case status.Code(a.err) == codes.PermissionDenied:
		e.Hint = "the account needs the permission bigquery.tables.updateData on the table"
	}
	return e
}

// storeAsNewIntent writes an intent for the request and delivers it.
func (w *Writer) storeAsNewIntent(ctx context.Context, r *request, t *writeResult) error {
	if err := w.ensureStream(ctx); err != nil {
		return err
	}
	in := w.newIntent(r)
	if err := w.journal.begin(in); err != nil {
		return w.fail("write the journal", nil, err)
	}
	return w.deliver(ctx, r, in, false, t)
}

// sendOnce sends the request once, on a new connection if need be.
func (w *Writer) sendOnce(ctx context.Context, r *request, in *intent) answer {
	if w.conn == nil || w.conn.stream != in.Stream {
		w.disconnect()
		c, err := connect(ctx, w.channel, in.Stream)
		if err != nil {
			return answer{verdict: verdictNotSent, err: err}
		}
		w.conn = c
	}
	resp, err := w.conn.append(ctx, r, in.Offset, w.opts.answerWithin)
	if err != nil {
		w.disconnect()
	}
	return answerOf(resp, err)
}

func (w *Writer) disconnect() {
	if w.conn != nil {
		w.conn.close()
		w.conn = nil
	}
}

func (w *Writer) recordStored(r *request, in *intent, t *writeResult) {
	if in.Stream == w.stream {
		w.offset = in.Offset + int64(in.Rows)
	}
	t.res.Rows += len(r.ends)
	t.res.Bytes += int64(len(r.rows))
	w.finishRequest(r, in, t)
}

// endStream finalizes the stream of a request. The final row count of the stream shows whether the
// request is stored.
func (w *Writer) endStream(ctx context.Context, r *request, in *intent, sent bool, a answer, t *writeResult) error {
	w.disconnect()
	n, known, err := w.finalize(ctx, in.Stream)
	switch {
	case err != nil && sent:
		w.pending = &pending{r, in}
		return w.fail("ask how far a stream got", nil, errors.Join(a.err, err))
	case err != nil:
		w.journal.end(in, false)
		if !slices.Contains(unknownOutcomeCodes, status.Code(err)) {
			w.stream = "" // no request on it is open, so its end need not be known
		}
		a.err = errors.Join(a.err, fmt.Errorf("ask how far a stream got: %w", err))
		return w.deliveryError(a)
	}
	w.stream = ""
	if known && n >= in.Offset+int64(in.Rows) {
		w.recordStored(r, in, t)
		return nil
	}
	if !known && sent {
		// Sending the rows again could store them twice, so they are counted as unknown.
		w.unknown.Add(int64(in.Rows))
		w.finishRequest(r, in, t)
		return nil
	}
	w.journal.end(in, false)
	if a.verdict != verdictStreamLost {
		return w.deliveryError(a)
	}
	return w.storeAsNewIntent(ctx, r, t)
}

// finalize closes a stream for good and returns its number of rows. known is false if the service
// will never report it.
func (w *Writer) finalize(ctx context.Context, stream string) (rows int64, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.opts.answerWithin)
	defer cancel()
	resp, err := w.client.FinalizeWriteStream(withRoutingHeader(ctx, "name", stream), &storagepb.FinalizeWriteStreamRequest{Name: stream})
	switch status.Code(err) {
	case codes.NotFound, codes.InvalidArgument, codes.FailedPrecondition: // it will never answer otherwise
		return 0, false, nil
	}
	return resp.GetRowCount(), err == nil, err
}

// ensureStream creates a committed stream if there is none: rows appended to it are in the table at
// once.
func (w *Writer) ensureStream(ctx context.Context) error {
	if w.stream != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.opts.answerWithin)
	defer cancel()
	stream, err := w.createStream(ctx)
	switch status.Code(err) {
	case codes.NotFound, codes.PermissionDenied: // the service returns either if the table is gone
		if again := w.opts.recreateTable(ctx, w.restAPI); again != nil {
			return w.fail("create a write stream", nil, fmt.Errorf("%w; %w", err, again))
		}
		stream, err = w.createStream(ctx)
	}
	if err != nil {
		return w.fail("create a write stream", nil, err)
	}
	w.stream, w.offset = stream, 0
	return nil
}

func (w *Writer) createStream(ctx context.Context) (string, error) {
	parent := tablePath(w.opts.Dataset)
	s, err := w.client.CreateWriteStream(withRoutingHeader(ctx, "parent", parent), &storagepb.CreateWriteStreamRequest{
		Parent: parent, WriteStream: &storagepb.WriteStream{Type: storagepb.WriteStream_COMMITTED},
	})
	return s.GetName(), err
}

// withoutRefusedRows returns the request without the rows that the service refused. Those become
// dead letters.
func (w *Writer) withoutRefusedRows(r *request, rows []*storagepb.RowError) (*request, error) {
	byPlace := map[int]*storagepb.RowError{}
	for _, e := range rows {
		if i := int(e.GetIndex()); i >= 0 && i < len(r.ends) {
			byPlace[i] = e
		}
	}
	if len(byPlace) == 0 {
		return nil, w.fail("append rows", nil, fmt.Errorf("the service refused rows that were not sent, %d of them", len(rows)))
	}
	places := slices.Sorted(maps.Keys(byPlace))
	left := r.withoutRows(places)
	for _, i := range places {
		left.letters = append(left.letters, w.newLetter(r.refs[i], Invalid, byPlace[i].GetMessage()))
	}
	return left, nil
}

func (w *Writer) tooLargeLetter(row *methodspan.Row) pendingLetter {
	return w.newLetter(row, TooLarge, "the row does not fit into a request")
}

// pause waits between d/2 and d. It returns false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
