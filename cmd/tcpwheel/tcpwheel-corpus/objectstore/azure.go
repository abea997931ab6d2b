package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"tcpwheel/pcaps/corpus"
)

// azure is a container of Azure Blob Storage.
type azure struct {
	client    *azblob.Client
	container string
	retry     corpus.Retry
}

// openAzure opens a container. The environment has AZURE_STORAGE_CONNECTION_STRING, or
// AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN.
func openAzure(_ context.Context, container string, o corpus.Options) (corpus.Store, error) {
	// No retries: Retry repeats.
	opts := &azblob.ClientOptions{ClientOptions: policy.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}}
	connection, account := o.Env("AZURE_STORAGE_CONNECTION_STRING"), o.Env("AZURE_STORAGE_ACCOUNT")
	key, token := o.Env("AZURE_STORAGE_KEY"), o.Env("AZURE_STORAGE_SAS_TOKEN")
	at := cmp.Or(o.Env("AZURE_STORAGE_ENDPOINT"), "https://"+account+".blob.core.windows.net/")
	var (
		client *azblob.Client
		err    error
	)
	switch {
	case connection != "" && !o.Anonymous:
		client, err = azblob.NewClientFromConnectionString(connection, opts)
	case account == "":
		err = errors.New("no account: set AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING")
	case o.Anonymous:
		client, err = azblob.NewClientWithNoCredential(at, opts)
	case token != "":
		client, err = azblob.NewClientWithNoCredential(at+"?"+token, opts)
	case key != "":
		var shared *azblob.SharedKeyCredential
		if shared, err = azblob.NewSharedKeyCredential(account, key); err == nil {
			client, err = azblob.NewClientWithSharedKeyCredential(at, shared, opts)
		}
	default:
		err = errors.New("no credentials: set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or use --anonymous for a public container")
	}
	if err != nil {
		return nil, err
	}
	return &azure{client, container, o.Retry}, nil
}

// List repeats a page whose connection breaks.
func (a *azure) List(ctx context.Context, prefix string, add func(corpus.Entry)) error {
	var marker *string
	for {
		var page azblob.ListBlobsFlatResponse
		err := a.retry.Do(ctx, func() (err error) {
			page, err = a.client.NewListBlobsFlatPager(a.container, &azblob.ListBlobsFlatOptions{Prefix: &prefix, Marker: marker}).NextPage(ctx)
			return azureError(err)
		})
		if err != nil {
			return err
		}
		for _, b := range page.Segment.BlobItems {
			if b.Name != nil && b.Properties != nil && b.Properties.ContentLength != nil && b.Properties.ETag != nil {
				add(corpus.Entry{Key: *b.Name, Size: *b.Properties.ContentLength, Tag: string(*b.Properties.ETag)})
			}
		}
		if marker = page.NextMarker; marker == nil || *marker == "" {
			return nil
		}
	}
}

func (a *azure) Open(ctx context.Context, key string, from int64, tag string) (io.ReadCloser, error) {
	opts := &azblob.DownloadStreamOptions{Range: azblob.HTTPRange{Offset: from}}
	if tag != "" {
		match := azcore.ETag(tag)
		opts.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &match}}
	}
	r, err := a.client.DownloadStream(ctx, a.container, key, opts)
	if err != nil {
		return nil, azureError(err)
	}
	return r.Body, nil
}

func (a *azure) Put(ctx context.Context, key string, body []byte, replace bool) error {
	opts := &azblob.UploadBufferOptions{}
	if !replace {
		anything := azcore.ETagAny
		opts.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &anything}}
	}
	_, err := a.client.UploadBuffer(ctx, a.container, key, body, opts)
	var r *azcore.ResponseError
	if !replace && errors.As(err, &r) && (r.ErrorCode == "BlobAlreadyExists" || r.ErrorCode == "ConditionNotMet") {
		return fmt.Errorf("%s: %w", key, fs.ErrExist)
	}
	return azureError(err)
}

func (a *azure) Remove(ctx context.Context, key string) error {
	_, err := a.client.DeleteBlob(ctx, a.container, key, nil)
	if err = azureError(err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// azureError says whether repeating a request may help.
func azureError(err error) error {
	var r *azcore.ResponseError
	if !errors.As(err, &r) {
		return err
	}
	// The error's own text is a page of headers.
	short := fmt.Errorf("%d %s", r.StatusCode, r.ErrorCode)
	return statusError(short, r.StatusCode, r.ErrorCode)
}
