// Foundation looks up what lies in FoundationNetworking by name, in the process: the loader of `NSData(contentsOf:)`, and the
// classes of archives. The classes of URLLoading are called otherwise, so each gets a second record here for the Swift
// runtime to find, with the module's name that Foundation asks for. A record leads to the metadata of the one class there is.
//
// The layout is that of Swift's ABI (TargetModuleContextDescriptor, TargetClassDescriptor, TargetTypeMetadataRecord), which
// has been stable since 5.0. All references are relative, so nothing is relocated when the program is loaded.

.macro module name, text
    .section .rodata.clf, "a", @progbits
    .p2align 2
\name:
    .long 0                     // a module
    .long 0                     // in nothing
    .long .Ltext_\name - .
.Ltext_\name:
    .asciz "\text"
.endm

.macro class module, name, class
    .section .rodata.clf, "a", @progbits
    .p2align 2
    .globl clf_record_\module\()_\name
    .hidden clf_record_\module\()_\name
clf_record_\module\()_\name:
    .long 0x50                  // a class, the only one of its name
    .long \module - .
    .long .Ltext_\module\name - .
    .long clf_\class - .
    .long 0, 0                  // no description of fields, no superclass: it is never used for reflection
    .long 0, 0, 0, 0, 0         // nor lays it out
.Ltext_\module\name:
    .asciz "\name"

    .section swift5_type_metadata, "aR", @progbits
    .p2align 2
    .long clf_record_\module\()_\name - .
.endm

    module networking, FoundationNetworking
    module foundation, Foundation

    class networking, CachedURLResponse, CachedURLResponse
    class networking, HTTPCookie, HTTPCookie
    class networking, HTTPCookieStorage, HTTPCookieStorage
    class networking, HTTPURLResponse, HTTPURLResponse
    class networking, URLResponse, URLResponse
    class networking, URLSession, URLSession
    class networking, URLSessionConfiguration, URLSessionConfiguration
    class networking, URLSessionDataTask, URLSessionDataTask
    class networking, URLSessionDownloadTask, URLSessionDownloadTask
    class networking, URLSessionStreamTask, URLSessionStreamTask
    class networking, URLSessionTask, URLSessionTask
    class networking, URLSessionUploadTask, URLSessionUploadTask
    class networking, URLAuthenticationChallenge, URLAuthenticationChallenge
    class networking, URLCache, URLCache
    class networking, URLCredential, URLCredential
    class networking, URLCredentialStorage, URLCredentialStorage
    class networking, URLProtectionSpace, URLProtectionSpace
    class networking, URLProtocol, URLProtocol

    // What `NSData(contentsOf:)` asks for.
    class networking, _NSNonfileURLContentLoader, RemoteContents

    // Foundation's table of Apple's names lacks these two, so it looks for Apple's in its own module.
    class networking, NSURLRequest, NSURLRequest
    class networking, NSMutableURLRequest, NSMutableURLRequest
    class foundation, NSURLRequest, NSURLRequest
    class foundation, NSMutableURLRequest, NSMutableURLRequest

    .section .note.GNU-stack, "", @progbits
