// Package filestorage is the extension file_storage of the contrib collector, with a check of its files at start.
//
// bbolt, the database behind it, trusts its pages: a damaged one ends the process, by a panic in a goroutine of bbolt
// or by a fault of mapped memory. Its invariant: no content of a file ends the collector. At start another process
// copies each file, and a file that it cannot read is moved aside, so that its queue starts empty. It repairs nothing.
package filestorage

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	contrib "github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

const scope = "github.com/corehour/corehour/extension/filestorage"

// NewFactory returns the factory of extensions of type file_storage, with the configuration of the contrib collector.
func NewFactory() extension.Factory {
	factory := contrib.NewFactory()
	return extension.NewFactory(factory.Type(), factory.CreateDefaultConfig,
		func(ctx context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
			inner, err := factory.Create(ctx, set, cfg)
			if err != nil {
				return nil, err
			}
			damaged, err := set.MeterProvider.Meter(scope).Int64Counter("otelcol_extension_file_storage_damaged",
				metric.WithUnit("{file}"), metric.WithDescription("Files of stored queues that were damaged at the start."))
			if err != nil {
				return nil, err
			}
			return &fileStorage{inner.(storage.Extension), cfg.(*contrib.Config).Directory, set.Logger, damaged}, nil
		}, factory.Stability())
}

// fileStorage checks the files of a directory before the contrib extension opens them.
type fileStorage struct {
	storage.Extension
	directory string
	logger    *zap.Logger
	damaged   metric.Int64Counter // by outcome: moved or kept
}

// databaseName matches the names that file_storage gives to its files, without copies and files moved aside.
var databaseName = regexp.MustCompile(`^((receiver|processor|exporter|extension|connector|other)_[A-Za-z0-9_~-]+|[0-9a-f]{64})$`)

// Start moves damaged files aside and starts the contrib extension.
func (s *fileStorage) Start(ctx context.Context, host component.Host) error {
	files, err := os.ReadDir(s.directory)
	if err != nil {
		return err
	}
	for _, file := range files {
		if info, err := file.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 && databaseName.MatchString(file.Name()) {
			if err := s.checkFile(ctx, filepath.Join(s.directory, file.Name()), info.Size()); err != nil {
				return err
			}
		}
	}
	return s.Extension.Start(ctx, host)
}

// checkFile moves a file aside if the checking process finds damage in it, crashes or does not end.
func (s *fileStorage) checkFile(ctx context.Context, path string, size int64) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, time.Minute+time.Duration(size>>20)*time.Second)
	defer cancel()
	check := exec.CommandContext(limit, self)
	check.Env = append(os.Environ(), checkVariable+"="+path)
	found, err := check.Output()
	if gone := os.Remove(copyOf(path)); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		return gone
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		found = append(found, exit.Stderr...) // of a panic
	}
	found, _, _ = bytes.Cut(found, []byte("\n"))
	fields := []zap.Field{zap.String("file", path), zap.ByteString("found", found), zap.Error(err)}
	switch {
	case err == nil && len(found) > 0:
		s.count(ctx, "kept")
		s.logger.Error("A stored queue is damaged: requests of its last transaction are lost or repeated.", fields...)
	case err == nil:
	case ctx.Err() != nil, limit.Err() == nil && (exit == nil || exit.ExitCode() < 0 || exit.ExitCode() == exitSkipped):
		// The process did not start, was ended by a signal, or did not get the file or the space of a copy.
		s.logger.Warn("A stored queue was not checked: a damaged one can end the collector.", fields...)
	default:
		aside := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
		if err := os.Rename(path, aside); err != nil {
			return err
		}
		s.count(ctx, "moved")
		s.logger.Error("A stored queue is damaged and its requests are lost: its file is moved aside, and the queue starts empty.",
			append(fields, zap.String("moved_to", aside))...)
	}
	return nil
}

func (s *fileStorage) count(ctx context.Context, outcome string) {
	s.damaged.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
}
