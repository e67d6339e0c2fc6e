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

// verdict classifies the service's answer to a request.
type verdict int

const (
	verdictStored         verdict = iota
	verdictUnknown                // no answer, or an answer that leaves the outcome open
	verdictNotSent                // not stored: there is no connection
	verdictBadRows                // not stored: some rows are invalid
	verdictStreamLost             // not stored: the stream is closed or does not exist
	verdictQuota                  // not stored: a quota is used up
	verdictColumnsUnseen          // not stored: the stream does not know new columns yet
	verdictStreamUnusable         // not stored: the stream may refuse every later request
	verdictRejected               // not stored: sending it again does not help
)

// answer is a verdict with its details.
type answer struct {
	verdict    verdict
	err        error
	rows       []*storagepb.RowError
	retryAfter time.Duration // pause that the service asks for
}

// answerOf returns the answer of a response, or of the error that came instead of one.
func answerOf(resp *storagepb.AppendRowsResponse, err error) answer {
	if err != nil {
		return answerOfStatus(status.Convert(errors.Unwrap(err)), err)
	}
	if inBand := resp.GetError(); inBand != nil {
		s := status.FromProto(inBand)
		a := answerOfStatus(s, s.Err())
		if len(resp.GetRowErrors()) > 0 && (a.verdict == verdictRejected || a.verdict == verdictStreamUnusable) {
			a.verdict, a.rows = verdictBadRows, resp.GetRowErrors()
		}
		return a
	}
	if len(resp.GetRowErrors()) > 0 {
		return answer{verdict: verdictBadRows, rows: resp.GetRowErrors(), err: errors.New("rows were refused")}
	}
	return answer{verdict: verdictStored}
}

// answerOfStatus returns the answer of a gRPC status; err is its cause.
func answerOfStatus(s *status.Status, err error) answer {
	a := answer{verdict: verdictRejected, err: err}
	code := storagepb.StorageError_STORAGE_ERROR_CODE_UNSPECIFIED
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *storagepb.StorageError:
			code = d.GetCode()
		case *errdetails.RetryInfo:
			a.retryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	switch {
	case code == storagepb.StorageError_OFFSET_ALREADY_EXISTS || s.Code() == codes.AlreadyExists:
		a.verdict = verdictStored
	case code == storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS:
		a.verdict = verdictColumnsUnseen
	case slices.Contains(streamLostCodes, code), s.Code() == codes.OutOfRange, s.Code() == codes.NotFound && code != storagepb.StorageError_TABLE_NOT_FOUND:
		a.verdict = verdictStreamLost
	case s.Code() == codes.ResourceExhausted:
		a.verdict = verdictQuota
	case slices.Contains(unknownOutcomeCodes, s.Code()):
		a.verdict = verdictUnknown
	case code == storagepb.StorageError_TABLE_NOT_FOUND, slices.Contains(streamUnusableCodes, s.Code()):
		a.verdict = verdictStreamUnusable
	}
	return a
}

// streamUnusableCodes are the codes of a stream that may refuse everything from now on. For a
// missing table the service returns PermissionDenied, "or it may not exist".
var streamUnusableCodes = []codes.Code{codes.InvalidArgument, codes.FailedPrecondition, codes.PermissionDenied}

// streamLostCodes are the errors of a stream that takes no more rows.
var streamLostCodes = []storagepb.StorageError_StorageErrorCode{
	storagepb.StorageError_STREAM_NOT_FOUND, storagepb.StorageError_STREAM_FINALIZED,
	storagepb.StorageError_STREAM_ALREADY_COMMITTED, storagepb.StorageError_INVALID_STREAM_STATE,
	storagepb.StorageError_OFFSET_OUT_OF_RANGE,
}

// unknownOutcomeCodes are the codes after which the rows may or may not be stored.
var unknownOutcomeCodes = []codes.Code{
	codes.Unavailable, codes.Aborted, codes.Internal, codes.DeadlineExceeded, codes.Canceled, codes.Unknown, codes.DataLoss,
}
