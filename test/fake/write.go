package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// maxRequest is the service's size limit for a request, in bytes.
const maxRequest = 10_000_000

type stream struct {
	table  *table
	rows   int64
	ended  bool
	spoilt Fault // Invalid or Precondition after such a fault, otherwise None
}

// CreateWriteStream creates a committed stream.
func (s *Server) CreateWriteStream(_ context.Context, req *storagepb.CreateWriteStreamRequest) (*storagepb.WriteStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.GetWriteStream().GetType() != storagepb.WriteStream_COMMITTED {
		return nil, status.Error(codes.InvalidArgument, "want a committed stream")
	}
	var ref bigquery.TableReference
	parts := strings.Split(req.GetParent(), "/")
	if len(parts) != 6 {
		return nil, status.Errorf(codes.InvalidArgument, "%q is no table", req.GetParent())
	}
	ref = bigquery.TableReference{ProjectID: parts[1], DatasetID: parts[3], TableID: parts[5]}
	t := s.tables[ref]
	if t == nil {
		return nil, storageError(codes.NotFound, storagepb.StorageError_TABLE_NOT_FOUND, "no table %q", req.GetParent())
	}
	s.made++
	name := fmt.Sprintf("%s/streams/stream-%d", req.GetParent(), s.made)
	s.streams[name] = &stream{table: t}
	return &storagepb.WriteStream{Name: name, Type: storagepb.WriteStream_COMMITTED}, nil
}

// FinalizeWriteStream ends a stream and returns its number of rows.
func (s *Server) FinalizeWriteStream(_ context.Context, req *storagepb.FinalizeWriteStreamRequest) (*storagepb.FinalizeWriteStreamResponse, error) {
	if s.OnFinalize != nil {
		if err := s.OnFinalize(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[req.GetName()]
	if st == nil || st.table.dropped {
		return nil, storageError(codes.NotFound, storagepb.StorageError_STREAM_NOT_FOUND, "no stream %q", req.GetName())
	}
	st.ended = true
	return &storagepb.FinalizeWriteStreamResponse{RowCount: st.rows}, nil
}

// AppendRows handles requests until the client or a fault ends the call.
func (s *Server) AppendRows(call storagepb.BigQueryWrite_AppendRowsServer) error {
	var schema protoreflect.MessageDescriptor
	for {
		req, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if given := req.GetProtoRows().GetWriterSchema(); given != nil {
			if schema, err = describe(given.GetProtoDescriptor()); err != nil {
				return status.Errorf(codes.InvalidArgument, "writer schema: %v", err)
			}
		}
		if schema == nil {
			return status.Error(codes.InvalidArgument, "the first request of a call must have the writer schema")
		}
		fault := s.nextFault(req.GetWriteStream())
		if fault == Unavailable {
			return status.Error(codes.Unavailable, "the connection is closed")
		}
		if fault == Invalid {
			return status.Error(codes.InvalidArgument, "Request contains an invalid argument.")
		}
		resp := s.append(req, schema, fault)
		switch fault {
		case AckLost:
			return status.Error(codes.Unavailable, "the connection is closed")
		case Internal:
			resp = refusal(status.New(codes.Internal, "something went wrong"))
		case Stuck:
			<-call.Context().Done()
			return call.Context().Err()
		}
		if err := call.Send(resp); err != nil {
			return err
		}
	}
}

// nextFault returns the fault of the next request and applies its effect to the stream.
func (s *Server) nextFault(name string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appends++
	if s.OnAppend == nil {
		return None
	}
	fault := s.OnAppend(s.appends)
	switch st := s.streams[name]; {
	case st != nil && st.spoilt != None:
		return st.spoilt
	case st != nil && (fault == Invalid || fault == Precondition):
		st.spoilt = fault
	case fault == StreamGone:
		delete(s.streams, name)
	case fault == StreamEnded && st != nil:
		st.ended = true
	}
	return fault
}

func (s *Server) append(req *storagepb.AppendRowsRequest, schema protoreflect.MessageDescriptor, fault Fault) *storagepb.AppendRowsResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[req.GetWriteStream()]
	size := proto.Size(req)
	rows := req.GetProtoRows().GetRows().GetSerializedRows()
	offset := req.GetOffset()
	switch {
	case size > maxRequest:
		return refuse(codes.InvalidArgument, 0, "the request has %d bytes, at most %d are allowed", size, maxRequest)
	case fault == Quota:
		limited, _ := status.New(codes.ResourceExhausted, "quota exceeded").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(1e6)})
		return refusal(limited)
	case fault == Precondition:
		return refuse(codes.FailedPrecondition, 0, "Precondition check failed.")
	case st == nil:
		return refuse(codes.NotFound, storagepb.StorageError_STREAM_NOT_FOUND, "no stream %q", req.GetWriteStream())
	case st.table.dropped:
		return refuse(codes.NotFound, storagepb.StorageError_TABLE_NOT_FOUND, "no table %q", st.table.Reference.TableID)
	case st.ended:
		return refuse(codes.InvalidArgument, storagepb.StorageError_STREAM_FINALIZED, "the stream is finalized")
	case offset == nil:
		return refuse(codes.InvalidArgument, 0, "want an offset")
	}
	if missing := unknownField(schema, st.table.Schema); missing != "" {
		return refuse(codes.InvalidArgument, storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS, "the table has no column %s", missing)
	}
	decoded, faults := s.decode(rows, schema, st.table.Schema)
	if len(faults) > 0 {
		resp := refuse(codes.InvalidArgument, 0, "%d rows can't be stored", len(faults))
		resp.RowErrors = faults
		return resp
	}
	switch {
	case offset.GetValue() < st.rows:
		return refuse(codes.AlreadyExists, storagepb.StorageError_OFFSET_ALREADY_EXISTS, "offset %d, the stream has %d rows", offset.GetValue(), st.rows)
	case offset.GetValue() > st.rows:
		return refuse(codes.OutOfRange, storagepb.StorageError_OFFSET_OUT_OF_RANGE, "offset %d, the stream has %d rows", offset.GetValue(), st.rows)
	}
	st.table.rows = append(st.table.rows, decoded...)
	st.rows += int64(len(decoded))
	return &storagepb.AppendRowsResponse{Response: &storagepb.AppendRowsResponse_AppendResult_{
		AppendResult: &storagepb.AppendRowsResponse_AppendResult{Offset: wrapperspb.Int64(offset.GetValue())},
	}}
}

func storageStatus(code codes.Code, detail storagepb.StorageError_StorageErrorCode, format string, args ...any) *status.Status {
	st := status.Newf(code, format, args...)
	if detail != 0 {
		st, _ = st.WithDetails(protoadapt.MessageV1Of(&storagepb.StorageError{Code: detail}))
	}
	return st
}

func storageError(code codes.Code, detail storagepb.StorageError_StorageErrorCode, format string, args ...any) error {
	return storageStatus(code, detail, format, args...).Err()
}

func refuse(code codes.Code, detail storagepb.StorageError_StorageErrorCode, format string, args ...any) *storagepb.AppendRowsResponse {
	return refusal(storageStatus(code, detail, format, args...))
}

func refusal(st *status.Status) *storagepb.AppendRowsResponse {
	return &storagepb.AppendRowsResponse{Response: &storagepb.AppendRowsResponse_Error{Error: st.Proto()}}
}
