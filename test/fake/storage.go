package fake

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
)

// Bucket is the name of the only bucket.
const Bucket = "my-bucket"

// maxObject is the maximum size of an uploaded object.
const maxObject = 64 << 20

func (s *Server) storageRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /upload/storage/v1/b/{bucket}/o", s.upload)
	mux.HandleFunc("DELETE /storage/v1/b/{bucket}/o/{object}", s.deleteObject)
}

// Objects returns the names of the objects in the bucket, sorted.
func (s *Server) Objects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.objects {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Lose deletes all objects, as a lifecycle rule of a bucket does with old objects.
func (s *Server) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.objects)
}

// upload handles a multipart upload: one part with the metadata of the object, one with its content.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	if !s.hasBucket(w, r) {
		return
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/related" || r.URL.Query().Get("uploadType") != "multipart" {
		fail(w, http.StatusBadRequest, "invalid", "want a multipart upload")
		return
	}
	var parts [][]byte
	for reader := multipart.NewReader(http.MaxBytesReader(w, r.Body, maxObject), params["boundary"]); ; {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(part)
		}
		if err != nil {
			fail(w, http.StatusBadRequest, "invalid", "%v", err)
			return
		}
		parts = append(parts, data)
	}
	var object struct{ Name, CRC32C string }
	if len(parts) != 2 || json.Unmarshal(parts[0], &object) != nil || object.Name == "" {
		fail(w, http.StatusBadRequest, "invalid", "want a part that names the object, and one with its contents")
		return
	}
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(parts[1], crc32.MakeTable(crc32.Castagnoli)))
	if object.CRC32C != "" && object.CRC32C != base64.StdEncoding.EncodeToString(sum) {
		fail(w, http.StatusBadRequest, "invalid", "the checksum does not match")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.objects[object.Name]; exists && r.URL.Query().Get("ifGenerationMatch") == "0" {
		fail(w, http.StatusPreconditionFailed, "conditionNotMet", "the object exists")
		return
	}
	s.objects[object.Name] = parts[1]
	answer(w, map[string]string{"name": object.Name})
}

func (s *Server) deleteObject(w http.ResponseWriter, r *http.Request) {
	if !s.hasBucket(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.objects[r.PathValue("object")]; !exists {
		fail(w, http.StatusNotFound, "notFound", "no such object")
		return
	}
	delete(s.objects, r.PathValue("object"))
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) hasBucket(w http.ResponseWriter, r *http.Request) bool {
	if r.PathValue("bucket") != Bucket {
		fail(w, http.StatusNotFound, "notFound", "The specified bucket does not exist.")
		return false
	}
	return true
}

// object returns the content of the object with the given URI, or nil if there is none.
func (s *Server) object(uri string) []byte {
	name, ok := strings.CutPrefix(uri, "gs://"+Bucket+"/")
	if !ok {
		return nil
	}
	return s.objects[name]
}
