// Loads a URL only from a server whose certificate chain has a public key with one of the given hashes: SHA-256 of the
// SubjectPublicKeyInfo, in Base64. Give the hash of a second key too, for the day when the first one is replaced.
//
//     openssl s_client -connect example.org:443 </dev/null 2>/dev/null | openssl x509 -pubkey -noout |
//         openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
//     swift run pinning https://example.org/ HASH [HASH…]
import URLLoading

let hashes = CommandLine.arguments.dropFirst(2)
guard CommandLine.arguments.count > 2, let url = URL(string: CommandLine.arguments[1]), let host = url.host else {
    print("usage: pinning URL HASH [HASH…]")
    exit(2)
}
let configuration = URLSessionConfiguration.ephemeral
configuration.appTransportSecurity = [
    "NSPinnedDomains": [host: ["NSPinnedLeafIdentities": hashes.map { ["SPKI-SHA256-BASE64": $0] }]]
]
let session = URLSession(configuration: configuration)
do {
    let (data, response) = try await session.data(from: url)
    print((response as? HTTPURLResponse)?.statusCode ?? 0, data.count, "bytes")
} catch let error as URLError {
    print(error.code.rawValue, error.localizedDescription)
    if let trust = error.failureURLPeerTrust, let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] {
        for certificate in chain {
            print("  the server has", SecCertificateCopySubjectSummary(certificate) as String? ?? "?")
        }
    }
    exit(1)
}
