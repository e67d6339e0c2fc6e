package bigquery

import (
	"errors"
	"slices"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// verdict is what the service said of a request.
type verdict int

const (
	stored    verdict = iota
	unsure            // no answer, or one that leaves open whether it is stored
	unreached         // not stored: there is no connection
	badRows           // not stored, because of some rows
	lost              // not stored: the stream takes no more, or not there
	quota             // not stored: later
	unseen            // not stored: columns were added and the stream does not know yet
	unusable          // not stored, and the stream may never take anything again
	rejected          // not stored, and trying again is of no use by itself
)

// answer is a verdict with what belongs to it.
type answer struct {
	verdict verdict
	err     error
	rows    []*storagepb.RowError
	after   time.Duration // the service's wish before the next attempt
}

// answerOf reads an answer to a request, or what came instead of one.
func answerOf(resp *storagepb.AppendRowsResponse, err error) answer {
	if err != nil {
		return ofStatus(status.Convert(errors.Unwrap(err)), err)
	}
	if inBand := resp.GetError(); inBand != nil {
		s := status.FromProto(inBand)
		a := ofStatus(s, s.Err())
		if len(resp.GetRowErrors()) > 0 && (a.verdict == rejected || a.verdict == unusable) {
			a.verdict, a.rows = badRows, resp.GetRowErrors()
		}
		return a
	}
	if len(resp.GetRowErrors()) > 0 {
		return answer{verdict: badRows, rows: resp.GetRowErrors(), err: errors.New("rows were refused")}
	}
	return answer{verdict: stored}
}

func ofStatus(s *status.Status, err error) answer {
	a := answer{verdict: rejected, err: err}
	code := storagepb.StorageError_STORAGE_ERROR_CODE_UNSPECIFIED
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *storagepb.StorageError:
			code = d.GetCode()
		case *errdetails.RetryInfo:
			a.after = d.GetRetryDelay().AsDuration()
		}
	}
	switch {
	case code == storagepb.StorageError_OFFSET_ALREADY_EXISTS || s.Code() == codes.AlreadyExists:
		a.verdict = stored
	case code == storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS:
		a.verdict = unseen
	case slices.Contains(streamGone, code), s.Code() == codes.OutOfRange, s.Code() == codes.NotFound && code != storagepb.StorageError_TABLE_NOT_FOUND:
		a.verdict = lost
	case s.Code() == codes.ResourceExhausted:
		a.verdict = quota
	case slices.Contains(openCodes, s.Code()):
		a.verdict = unsure
	case code == storagepb.StorageError_TABLE_NOT_FOUND, slices.Contains(streamRefused, s.Code()):
		a.verdict = unusable
	}
	return a
}

// streamRefused are the codes of a stream that may stay as it is. Of a table that is gone
// the service also says that the account is not permitted, "or it may not exist".
var streamRefused = []codes.Code{codes.InvalidArgument, codes.FailedPrecondition, codes.PermissionDenied}

var streamGone = []storagepb.StorageError_StorageErrorCode{
	storagepb.StorageError_STREAM_NOT_FOUND, storagepb.StorageError_STREAM_FINALIZED,
	storagepb.StorageError_STREAM_ALREADY_COMMITTED, storagepb.StorageError_INVALID_STREAM_STATE,
	storagepb.StorageError_OFFSET_OUT_OF_RANGE,
}

// openCodes leave open what became of a request.
var openCodes = []codes.Code{
	codes.Unavailable, codes.Aborted, codes.Internal, codes.DeadlineExceeded, codes.Canceled, codes.Unknown, codes.DataLoss,
}
