package bigquery

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"golang.org/x/oauth2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/oauth"
	"google.golang.org/grpc/metadata"
)

const appendMethod = "/google.cloud.bigquery.storage.v1.BigQueryWrite/AppendRows"

// anyAnswer lifts gRPC's bound of 4 MiB for an answer, as Google's own client does: one
// that is longer would come as a used-up quota. An answer names each row that is refused,
// with the reason, so the request bounds it.
var anyAnswer = grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32))

// dial prepares the channel to the Storage Write API; it does not connect.
func dial(endpoint string, credentialsOf func() (oauth2.TokenSource, error)) (*grpc.ClientConn, error) {
	if err := CheckEndpoint(endpoint, DefaultWriteAPI); err != nil {
		return nil, fmt.Errorf("the endpoint of the Storage Write API: %w", err)
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" {
		return grpc.NewClient("passthrough:///"+u.Host, grpc.WithTransportCredentials(insecure.NewCredentials()), anyAnswer)
	}
	source, err := credentialsOf()
	if err != nil {
		return nil, err
	}
	host := u.Host
	if u.Port() == "" {
		host += ":443"
	}
	return grpc.NewClient("dns:///"+host, anyAnswer,
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})),
		grpc.WithPerRPCCredentials(oauth.TokenSource{TokenSource: source}))
}

// connection is one AppendRows call: requests go up, answers come down in order.
type connection struct {
	stream     string // the write stream
	call       grpc.ClientStream
	cancel     context.CancelFunc
	withSchema bool // the next request is the first
}

// connect makes the call, which may take until there is a connection. The call
// outlives the context within which it is made.
func connect(within context.Context, channel *grpc.ClientConn, stream string) (*connection, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(within))
	stop := context.AfterFunc(within, cancel)
	defer stop()
	ctx = routed(ctx, "write_stream", stream)
	desc := &grpc.StreamDesc{StreamName: "AppendRows", ClientStreams: true, ServerStreams: true}
	call, err := channel.NewStream(ctx, desc, appendMethod, grpc.ForceCodecV2(codec{}))
	if err != nil {
		cancel()
		return nil, err
	}
	return &connection{stream: stream, call: call, cancel: cancel, withSchema: true}, nil
}

// routed tells the service's front which stream or table a call is about.
func routed(ctx context.Context, key, value string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-goog-request-params", key+"="+url.QueryEscape(value))
}

var errNoAnswer = errors.New("no answer in time")

// append sends one request and waits for the answer. After an error the
// connection can't be used.
func (c *connection) append(ctx context.Context, r *request, offset int64, within time.Duration) (*storagepb.AppendRowsResponse, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errNoAnswer)
	defer cancel()
	stop := context.AfterFunc(ctx, c.cancel)
	defer stop()
	// An error of SendMsg only says that there is one; RecvMsg says which.
	_ = c.call.SendMsg(r.message(c.stream, offset, c.withSchema))
	c.withSchema = false
	var resp storagepb.AppendRowsResponse
	if err := c.call.RecvMsg(&resp); err != nil {
		return nil, fmt.Errorf("append %d rows at offset %d: %w", len(r.ends), offset, err)
	}
	return &resp, nil
}

func (c *connection) close() {
	_ = c.call.CloseSend()
	c.cancel()
}

// tablePath is the parent of write streams.
func tablePath(d Dataset) string {
	return "projects/" + d.Project + "/datasets/" + d.Name + "/tables/" + TableName
}
