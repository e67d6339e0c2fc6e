package query

import (
	"context"
	"database/sql"

	"github.com/duckdb/duckdb-go/v2"
)

// EngineVersion is the version of DuckDB that reads the files.
func EngineVersion(ctx context.Context) (version string, err error) {
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	err = db.QueryRowContext(ctx, "SELECT version()").Scan(&version)
	return version, err
}
