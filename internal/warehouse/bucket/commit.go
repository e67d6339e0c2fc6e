package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

const (
	commitDir    = "_commit/"
	manifestDir  = "_manifest/"
	commitSchema = 1
	// lookAgain is how often a list that is overtaken is made again.
	maxListRetries = 10
)

// bucketCommit names the current generation of a prefix. It is also the owner's heartbeat, so one is
// made from time to time even if nothing has changed.
type bucketCommit struct {
	Schema int   `json:"schema_version"`
	Number int64 `json:"number"`
	// Generation is that of Manifest; both are empty before the first row.
	Generation int64  `json:"generation"`
	Manifest   string `json:"manifest,omitempty"`
	Checksum   string `json:"checksum,omitempty"`
	// Owner identifies the directory that is uploaded, Session the process that uploads it.
	Owner     string    `json:"owner"`
	Session   string    `json:"session"`
	Holder    string    `json:"holder"` // for people
	Committed time.Time `json:"committed"`
	// Lease is how long the owner keeps the prefix without another commit.
	Lease time.Duration `json:"lease_ns"`
	// Released means that any collector can take the prefix.
	Released bool `json:"released,omitempty"`
	// Scratch means that the owner's directory is deleted at the end, so no rows remain in it.
	Scratch bool `json:"scratch,omitempty"`
	// Handed lists the takeovers from earlier owners.
	Handed []takeover `json:"handed,omitempty"`

	at   time.Time   // when the store got it, by its clock
	tree *table.Tree // of the generation, where the commit is ours
}

func commitPath(number int64) string { return fmt.Sprintf("%s%012d.json", commitDir, number) }

func commitNumber(p string) (int64, bool) {
	name, ok := strings.CutSuffix(strings.TrimPrefix(p, commitDir), ".json")
	n, err := strconv.ParseInt(name, 10, 64)
	return n, ok && err == nil && n > 0 && commitPath(n) == p
}

// head returns the current commit, nil if there is none.
func (s *Store) head(ctx context.Context) (*bucketCommit, error) {
	for range maxListRetries {
		objects, err := s.list(ctx, commitDir)
		if err != nil {
			return nil, err
		}
		var newest int64
		var at time.Time
		for _, o := range objects {
			if n, ok := commitNumber(o.path); ok && n > newest {
				newest, at = n, o.at
			}
		}
		if newest == 0 {
			return nil, nil
		}
		c, err := s.readCommit(ctx, newest)
		if errors.Is(err, errNotFound) {
			continue // newer ones came and this one's time was over
		}
		if err != nil {
			return nil, err
		}
		c.at = at
		return c, nil
	}
	return nil, warehouse.Damaged("read commit", s.Address(), errors.New("the newest commit is listed and can't be read"))
}

func (s *Store) readCommit(ctx context.Context, number int64) (*bucketCommit, error) {
	data, err := s.read(ctx, commitPath(number))
	if err != nil {
		return nil, err
	}
	c := &bucketCommit{}
	if err := json.Unmarshal(data, c); err != nil || c.Number != number {
		return nil, warehouse.Damaged("read commit", s.show(s.key(commitPath(number))), fmt.Errorf("it is no commit of number %d", number))
	}
	if c.Schema > commitSchema {
		return nil, warehouse.Newer("read commit", s.show(s.key(commitPath(number))), c.Schema, commitSchema)
	}
	if c.Manifest != "" && (path.Base(c.Manifest) != c.Manifest || !strings.HasSuffix(c.Manifest, ".json")) {
		return nil, warehouse.Damaged("read commit", s.show(s.key(commitPath(number))), fmt.Errorf("it names the manifest %q", c.Manifest))
	}
	return c, nil
}

// put creates a commit. If this session already created it in an attempt whose answer was lost, put
// returns that commit. If another session created it, the error is of kind ErrTaken.
func (s *Store) put(ctx context.Context, c *bucketCommit) (*bucketCommit, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	err = s.createText(ctx, commitPath(c.Number), data)
	made := c
	if errors.Is(err, errExists) {
		made, err = s.readCommit(ctx, c.Number)
		if err == nil && made.Session != c.Session {
			return nil, s.taken(made)
		}
	}
	if err != nil {
		return nil, err
	}
	// Old commits are deleted, so a free name is no proof: a process that was stopped for long finds
	// newer commits here.
	head, err := s.head(ctx)
	if err != nil {
		return nil, err
	}
	if head == nil || head.Number > c.Number {
		return nil, s.taken(head)
	}
	made.at = head.at
	return made, nil
}

// taken returns the error that names the collector holding the prefix.
func (s *Store) taken(by *bucketCommit) error {
	e := &warehouse.Error{Op: "commit", Path: s.Address(), Kind: ErrTaken,
		Hint: "give each collector a `prefix` of its own; what this one has not uploaded is still in its directory, and `corehour compact --import` brings it in"}
	if by != nil {
		e.Err = fmt.Errorf("%.200q has made commit %d at %s", by.Holder, by.Number, by.Committed.Format(time.RFC3339))
	}
	return e
}
