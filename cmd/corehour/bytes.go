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

// defaultMaxBytes limits a careless query to a few cents.
const defaultMaxBytes = "100GB"

const remotePrefix = "bigquery://"

// defaultCacheSize is the default of internal/warehouse/bucket, in readable form.
const defaultCacheSize = "10GB"

const cacheSizeHasNoEffect = "--cache-size has no effect here: it is for a --warehouse in a bucket"

// parseCacheSize adds the size of the cache to the address of a bucket.
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

// addOption adds an option to the address of a warehouse. An option in the address together with the flag
// is an error.
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

// parseMaxBytes adds the bound to the address of the warehouse, where every reader finds it.
func (c *common) parseMaxBytes() error {
	if !strings.HasPrefix(c.warehouse, remotePrefix) {
		if c.maxBytes != defaultMaxBytes {
			return errors.New("--max-bytes-billed has no effect on files: leave it out, or ask bigquery://project/dataset")
		}
		return nil
	}
	return addOption(&c.warehouse, "max_bytes_billed", "--max-bytes-billed", c.maxBytes, defaultMaxBytes)
}

// parseBytes parses a number of bytes, with or without a unit.
func parseBytes(name, s string) (int64, error) {
	var n units.Bytes
	if err := n.UnmarshalText([]byte(s)); err != nil || n < 1 {
		return 0, fmt.Errorf("%s: want a number of bytes, one or more, like 500MB, 50GB or 1TB, found %q", name, s)
	}
	return int64(n), nil
}
