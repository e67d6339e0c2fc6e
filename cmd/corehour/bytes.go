package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/corehour/corehour/regression/query"
)

// defaultMaxBytes keeps a careless query from costing more than some cents.
const defaultMaxBytes = "100GB"

const remotePrefix = "bigquery://"

// defaultCacheSize is the bound of internal/bucket, as people write it.
const defaultCacheSize = "10GB"

const cacheSizeHasNoEffect = "--cache-size has no effect here: it is for a --warehouse in a bucket"

// parseCacheSize puts the bound of the cache into the address of a bucket.
func (c *common) parseCacheSize() error {
	if !query.IsBucket(c.warehouse) {
		if c.cacheSize != defaultCacheSize {
			return errors.New(cacheSizeHasNoEffect)
		}
		return nil
	}
	n, err := parseBytes("--cache-size", c.cacheSize)
	if err != nil {
		return err
	}
	return c.addOption(query.CacheOption, n)
}

// addOption adds an option to the address of the warehouse.
func (c *common) addOption(name string, value int64) error {
	u, err := url.Parse(c.warehouse)
	if err != nil {
		return fmt.Errorf("--warehouse: %w", err)
	}
	q := u.Query()
	q.Set(name, strconv.FormatInt(value, 10))
	u.RawQuery = q.Encode()
	c.warehouse = u.String()
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
	n, err := parseBytes("--max-bytes-billed", c.maxBytes)
	if err != nil {
		return err
	}
	return c.addOption("max_bytes_billed", n)
}

// parseBytes reads a number of bytes with a unit of powers of ten.
func parseBytes(name, s string) (int64, error) {
	number, unit := s, 1.0
	for _, u := range [...]struct {
		suffix string
		factor float64
	}{{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			number, unit = rest, u.factor
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v > 0) || v*unit > 1e18 {
		return 0, fmt.Errorf("%s: want a number of bytes above 0 like 500MB, 50GB or 1TB, found %q", name, s)
	}
	return int64(v * unit), nil
}
