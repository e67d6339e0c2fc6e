package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/corehour/corehour/internal/units"
	"github.com/corehour/corehour/regression/query"
)

// defaultMaxBytes keeps a careless query from costing more than some cents.
const defaultMaxBytes = "100GB"

const remotePrefix = "bigquery://"

// defaultCacheSize is the bound of internal/warehouse/bucket, as people write it.
const defaultCacheSize = "10GB"

const cacheSizeHasNoEffect = "--cache-size has no effect here: it is for a --warehouse in a bucket"

// parseCacheSize puts the bound of the cache into the address of a bucket.
func (c *common) parseCacheSize() error {
	none := true
	for _, address := range c.addresses() {
		if !query.IsBucket(*address) {
			continue
		}
		none = false
		if err := addOption(address, query.CacheOption, "--cache-size", c.cacheSize, defaultCacheSize); err != nil {
			return err
		}
	}
	if none && c.cacheSize != defaultCacheSize {
		return errors.New(cacheSizeHasNoEffect)
	}
	return nil
}

func (c *common) addresses() []*string {
	all := []*string{&c.warehouse}
	for i := range c.others {
		all = append(all, &c.others[i])
	}
	return all
}

// addOption adds an option to the address of a warehouse. An option of the address itself counts; a
// flag in addition to it is an error.
func addOption(address *string, name, flag, value, byDefault string) error {
	n, err := parseBytes(flag, value)
	if err != nil {
		return err
	}
	u, err := url.Parse(*address)
	if err != nil {
		return fmt.Errorf("--warehouse: %w", err)
	}
	q := u.Query()
	if q.Has(name) {
		if value != byDefault {
			return fmt.Errorf("%s %s: the address of --warehouse has %s=%s already: leave one of them out", flag, value, name, q.Get(name))
		}
		return nil
	}
	q.Set(name, strconv.FormatInt(n, 10))
	u.RawQuery = q.Encode()
	*address = u.String()
	return nil
}

// parseMaxBytes puts the bound into the address of the warehouse, where every
// reader of it finds it.
func (c *common) parseMaxBytes() error {
	if !strings.HasPrefix(c.warehouse, remotePrefix) {
		if c.maxBytes != defaultMaxBytes {
			return errors.New("--max-bytes-billed has no effect on files: leave it out, or ask bigquery://project/dataset")
		}
		return nil
	}
	return addOption(&c.warehouse, "max_bytes_billed", "--max-bytes-billed", c.maxBytes, defaultMaxBytes)
}

// parseBytes reads a number of bytes, with a unit or without.
func parseBytes(name, s string) (int64, error) {
	var n units.Bytes
	if err := n.UnmarshalText([]byte(s)); err != nil || n < 1 {
		return 0, fmt.Errorf("%s: want a number of bytes, one or more, like 500MB, 50GB or 1TB, found %q", name, s)
	}
	return int64(n), nil
}
