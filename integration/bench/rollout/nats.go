//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// nats is a message broker: subjects with wildcards, queue groups, requests, streams in files, pull consumers, a
// key-value bucket, an object store, users with permissions, short connections and monitoring.
var nats = server{
	module: "github.com/nats-io/nats-server/v2@v2.15.3", pkg: ".",
	rate: 80,
	plant: plant{
		class: "github.com/nats-io/nats-server/v2/server.client", method: "deliverMsg", file: "server/client.go", ns: 770,
		before: "func (c *client) deliverMsg(prodIsMQTT bool, sub *subscription, acc *Account, subject, reply, mh, msg []byte, gwrply bool) bool {",
	},
	args: func(p *process) ([]string, error) {
		path := filepath.Join(p.dir, "nats.conf")
		_, port, _ := net.SplitHostPort(p.addresses[2])
		text := fmt.Sprintf(natsConfig, p.addresses[0], p.addresses[1], port, filepath.Join(p.dir, "store"))
		return []string{"-c", path}, os.WriteFile(path, []byte(text), 0o600)
	},
	ready:   func(p *process) string { return "http://" + p.addresses[1] + "/healthz" },
	profile: func(p *process) string { return "http://" + p.addresses[2] + "/debug/pprof/profile" },
	connect: connectNATS,
}

const natsConfig = `
listen: %q
http: %q
prof_port: %s
jetstream { store_dir: %q, max_file: 1GB, max_mem: 256MB }
accounts {
  APP {
    jetstream: enabled
    users: [
      {user: app, password: app}
      {user: limited, password: limited, permissions: {publish: ["orders.>", "_INBOX.>"], subscribe: ["orders.*.paid", "_INBOX.>"]}}
    ]
    exports: [{stream: "shared.>"}, {service: "api.quote"}]
  }
  OTHER {
    users: [{user: other, password: other}]
    imports: [{stream: {account: APP, subject: "shared.>"}}, {service: {account: APP, subject: "api.quote"}}]
  }
}
`

type natsClient struct {
	url                string
	app, limited, peer *natsgo.Conn
	stream             jetstream.JetStream
	consumer           jetstream.Consumer
	bucket             jetstream.KeyValue
	objects            jetstream.ObjectStore
	http               *httpClient
	body               []byte
}

func connectNATS(ctx context.Context, p *process) (client, error) {
	c := &natsClient{url: "nats://" + p.addresses[0], http: newHTTPClient("http://" + p.addresses[1]), body: make([]byte, 300)}
	for i := range c.body {
		c.body[i] = byte('a' + i%26)
	}
	var err error
	for _, user := range []struct {
		name string
		conn **natsgo.Conn
	}{{"app", &c.app}, {"limited", &c.limited}, {"other", &c.peer}} {
		if *user.conn, err = natsgo.Connect(c.url, natsgo.UserInfo(user.name, user.name), natsgo.Name(user.name)); err != nil {
			return nil, err
		}
	}
	ignore := func(*natsgo.Msg) {}
	for _, subject := range []string{"orders.>", "orders.*.paid", "orders.eu.*", "shared.a"} {
		if _, err := c.app.Subscribe(subject, ignore); err != nil {
			return nil, err
		}
	}
	for range 3 {
		if _, err := c.app.QueueSubscribe("orders.*.new", "workers", ignore); err != nil {
			return nil, err
		}
	}
	if _, err := c.limited.Subscribe("orders.*.paid", ignore); err != nil {
		return nil, err
	}
	if _, err := c.peer.Subscribe("shared.>", ignore); err != nil {
		return nil, err
	}
	if _, err := c.app.Subscribe("api.quote", func(m *natsgo.Msg) { _ = m.Respond(m.Data) }); err != nil {
		return nil, err
	}
	return c, c.createStreams(ctx)
}

func (c *natsClient) createStreams(ctx context.Context) (err error) {
	if c.stream, err = jetstream.New(c.app); err != nil {
		return err
	}
	if _, err = c.stream.CreateStream(ctx, jetstream.StreamConfig{
		Name: "EVENTS", Subjects: []string{"events.>"}, MaxMsgs: 20_000, MaxAge: 5 * time.Minute, Duplicates: time.Minute, AllowDirect: true,
	}); err != nil {
		return err
	}
	if c.consumer, err = c.stream.CreateConsumer(ctx, "EVENTS", jetstream.ConsumerConfig{
		Durable: "reader", AckPolicy: jetstream.AckExplicitPolicy, FilterSubjects: []string{"events.a.>", "events.b.>"},
	}); err != nil {
		return err
	}
	if c.bucket, err = c.stream.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "settings", History: 3}); err != nil {
		return err
	}
	c.objects, err = c.stream.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "files"})
	return err
}

func (c *natsClient) round(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	regions, states := []string{"eu", "us", "ap"}, []string{"new", "paid", "sent"}
	for i := range 30 {
		m := natsgo.NewMsg("orders." + regions[i%3] + "." + states[(n+i)%3])
		m.Data = c.body[:50+i*8]
		if i%3 == 0 {
			m.Header.Set("Trace", fmt.Sprint(n))
		}
		if err := c.app.PublishMsg(m); err != nil {
			return err
		}
	}
	if err := c.limited.Publish("orders.eu.paid", c.body); err != nil {
		return err
	}
	if err := c.app.Publish("shared.a", c.body[:20]); err != nil {
		return err
	}
	for _, conn := range []*natsgo.Conn{c.app, c.peer} {
		for range 2 {
			if _, err := conn.RequestWithContext(ctx, "api.quote", c.body[:100]); err != nil {
				return err
			}
		}
	}
	return c.persist(ctx, n)
}

// persist uses streams, buckets and objects, and now and then sends a rarer request.
func (c *natsClient) persist(ctx context.Context, n int) error {
	for i := range 6 {
		subject := fmt.Sprintf("events.%c.%d", 'a'+i%3, n%50)
		if _, err := c.stream.Publish(ctx, subject, c.body[:100+20*i], jetstream.WithMsgID(fmt.Sprintf("%d-%d", n, i/2))); err != nil {
			return err
		}
	}
	batch, err := c.consumer.FetchNoWait(4)
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		if err := m.DoubleAck(ctx); err != nil {
			return err
		}
	}
	key := fmt.Sprintf("key.%d", n%200)
	if _, err := c.bucket.Put(ctx, key, c.body[:64]); err != nil {
		return err
	}
	if _, err := c.bucket.Get(ctx, key); err != nil {
		return err
	}
	switch n % 20 {
	case 3:
		_, err = c.objects.PutBytes(ctx, fmt.Sprintf("file%d", n/20%10), c.body)
	case 7:
		_, err = c.consumer.Info(ctx)
	case 9:
		err = c.connectShortly()
	case 11:
		err = c.readOnce(ctx)
	case 13:
		_, err = c.http.send(ctx, "GET", []string{"/varz", "/connz?subs=1", "/jsz?streams=1", "/subsz"}[n/20%4], "")
	case 17:
		err = c.bucket.Delete(ctx, key)
	}
	return err
}

func (c *natsClient) readOnce(ctx context.Context) error {
	consumer, err := c.stream.CreateConsumer(ctx, "EVENTS", jetstream.ConsumerConfig{FilterSubject: "events.c.7", AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		return err
	}
	return c.stream.DeleteConsumer(ctx, "EVENTS", consumer.CachedInfo().Name)
}

func (c *natsClient) connectShortly() error {
	conn, err := natsgo.Connect(c.url, natsgo.UserInfo("app", "app"))
	if err != nil {
		return err
	}
	defer conn.Close()
	s, err := conn.SubscribeSync("orders.eu.new")
	if err != nil {
		return err
	}
	if err := conn.Flush(); err != nil {
		return err
	}
	return s.Unsubscribe()
}

func (c *natsClient) close() {
	for _, conn := range []*natsgo.Conn{c.app, c.limited, c.peer} {
		conn.Close()
	}
	c.http.close()
}
