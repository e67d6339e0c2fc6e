package parquet

import "github.com/corehour/corehour/internal/warehouse/rowtest"

// The rows of the tests.
var noon, shop, item = rowtest.Noon, rowtest.Shop, rowtest.Item
