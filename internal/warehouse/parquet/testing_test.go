package parquet

import "github.com/corehour/corehour/internal/warehouse/rowtest"

// Test data, see rowtest.
var noon, shop, item = rowtest.Noon, rowtest.Shop, rowtest.Item
