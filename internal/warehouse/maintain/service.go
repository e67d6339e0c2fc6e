package maintain

import (
	"context"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// DeleteService deletes all rows of a service. Rows that arrive later are stored.
func (j *Job) DeleteService(ctx context.Context, service string) (*Result, error) {
	return j.service(ctx, Delete, service, parquet.RunOptions{
		Edit: func(_ int, r *methodspan.Row) bool { return r.Resource.Service != service },
	})
}

// RelabelService renames a service in all its rows.
func (j *Job) RelabelService(ctx context.Context, from, to string) (*Result, error) {
	renamed := map[*methodspan.Resource]*methodspan.Resource{}
	return j.service(ctx, Relabel, from, parquet.RunOptions{
		// Renamed rows have another place in the sort order, so they are read separately.
		Parts: 2,
		Edit: func(part int, r *methodspan.Row) bool {
			ours := r.Resource.Service == from
			if ours != (part == 1) {
				return false
			}
			if ours {
				res := renamed[r.Resource]
				if res == nil {
					changed := *r.Resource
					changed.Service = to
					res = &changed
					if len(renamed) > maxRenamed {
						clear(renamed)
					}
					renamed[r.Resource] = res
				}
				r.Resource = res
			}
			return true
		},
	})
}

// maxRenamed is the maximum number of resources that are cached to be shared by rows.
const maxRenamed = 100_000

// service rewrites the files that contain rows of a service.
func (j *Job) service(ctx context.Context, action Action, service string, o parquet.RunOptions) (*Result, error) {
	return j.withDates(ctx, func(r *runner, d *table.Date) error {
		return r.rewrite(ctx, d, action, o, func(f parquet.File) (bool, error) { return r.hasService(ctx, f, service) })
	})
}

// rewrite edits the files of a date for which has returns true.
func (r *runner) rewrite(ctx context.Context, d *table.Date, action Action, o parquet.RunOptions, has func(parquet.File) (bool, error)) error {
	var files []parquet.File
	for _, f := range d.Files {
		ours, err := r.fetched(ctx, f, has)
		if err != nil {
			return err
		}
		if ours {
			files = append(files, f)
		}
	}
	for len(files) > 0 {
		var next []parquet.File
		next, files = r.nextFiles(files)
		err := r.replace(ctx, d, action, next, func(next []parquet.File) (parquet.File, error) {
			return edit(ctx, r.m, d.Date, next, o)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// edit writes the rows of files that the options leave into one file.
func edit(ctx context.Context, m *table.Maintainer, date string, files []parquet.File, o parquet.RunOptions) (parquet.File, error) {
	return m.Replace(ctx, date, files, output(files, haveNoIDs(files)), func(add func(*methodspan.Row) error) error {
		run, err := parquet.OpenRun(ctx, files, o)
		if err != nil {
			return err
		}
		defer run.Close()
		for {
			row, err := run.Next()
			if row == nil || err != nil {
				return err
			}
			if err := add(row); err != nil {
				return err
			}
		}
	})
}

// nextFiles splits files into those to rewrite next and the rest. The next files are of one level, can be
// fetched at once, and are at most half of what can be read concurrently, because each can be read in two
// parts.
func (r *runner) nextFiles(files []parquet.File) (next, rest []parquet.File) {
	for _, f := range files {
		with := append(next[:len(next):len(next)], f)
		if len(next) == 0 || f.Level == next[0].Level && r.fetchable(with) && r.fits(append(with, with...), wholeRows) {
			next = with
		} else {
			rest = append(rest, f)
		}
	}
	return next, rest
}

// maxOthers is the maximum number of other services that a report names.
const maxOthers = 10_000

// hasService reports whether a file contains rows of a service.
func (r *runner) hasService(ctx context.Context, f parquet.File, service string) (bool, error) {
	run, err := parquet.OpenRun(ctx, []parquet.File{f}, parquet.RunOptions{Columns: []string{"service"}})
	if err != nil {
		return false, err
	}
	defer run.Close()
	last := ""
	for {
		row, err := run.Next()
		if row == nil || err != nil {
			return false, err
		}
		if row.Resource.Service == service {
			return true, nil
		}
		if others := r.report.Others; row.Resource.Service != last && len(others) < maxOthers {
			last = row.Resource.Service
			r.report.Others = append(others, last)
		}
	}
}
