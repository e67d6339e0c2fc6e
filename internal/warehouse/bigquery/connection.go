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

// unlimitedAnswers lifts gRPC's limit of 4 MiB for an answer, as Google's client does. gRPC reports
// a longer answer as ResourceExhausted, which reads as a used-up quota. An answer has one error per
// refused row, so the size of the request bounds it.
var unlimitedAnswers = grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32))

// dial creates the channel to the Storage Write API. It does not connect.
func dial(endpoint string, credentialsOf func() (oauth2.TokenSource, error)) (*grpc.ClientConn, error) {
	if err := CheckEndpoint(endpoint, DefaultWriteAPI); err != nil {
		return nil, fmt.Errorf("the endpoint of the Storage Write API: %w", err)
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" {
		return grpc.NewClient("passthrough:///"+u.Host, grpc.WithTransportCredentials(insecure.NewCredentials()), unlimitedAnswers)
	}
	source, err := credentialsOf()
	if err != nil {
		return nil, err
	}
	host := u.Host
	if u.Port() == "" {
		host += ":443"
	}
	return grpc.NewClient("dns:///"+host, unlimitedAnswers,
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})),
		grpc.WithPerRPCCredentials(oauth.TokenSource{TokenSource: source}))
}

// connection is one AppendRows call: it sends requests and receives their answers in order.
type connection struct {
	stream     string // name of the write stream
	call       grpc.ClientStream
	cancel     context.CancelFunc
	withSchema bool // the next request is the first and must carry the schema
}

// connect opens an AppendRows call and waits until a connection exists. The call outlives the
// context within, which bounds only the wait.
func connect(within context.Context, channel *grpc.ClientConn, stream string) (*connection, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(within))
	stop := context.AfterFunc(within, cancel)
	defer stop()
	ctx = withRoutingHeader(ctx, "write_stream", stream)
	desc := &grpc.StreamDesc{StreamName: "AppendRows", ClientStreams: true, ServerStreams: true}
	call, err := channel.NewStream(ctx, desc, appendMethod, grpc.ForceCodecV2(codec{}))
	if err != nil {
		cancel()
		return nil, err
	}
	return &connection{stream: stream, call: call, cancel: cancel, withSchema: true}, nil
}

// withRoutingHeader adds the header by which the service routes a call to its stream or table.
func withRoutingHeader(ctx context.Context, key, value string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-goog-request-params", key+"="+url.QueryEscape(value))
}

var errNoAnswer = errors.New("no answer in time")

// append sends one request and waits for its answer. After an error the connection must not be used
// again.
func (c *connection) append(ctx context.Context, r *request, offset int64, within time.Duration) (*storagepb.AppendRowsResponse, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errNoAnswer)
	defer cancel()
	stop := context.AfterFunc(ctx, c.cancel)
	defer stop()
	// SendMsg does not return the cause of an error; RecvMsg does.
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

// tablePath returns the resource name of the table, the parent of its write streams.
func tablePath(d Dataset) string {
	return "projects/" + d.Project + "/datasets/" + d.Name + "/tables/" + TableName
}
