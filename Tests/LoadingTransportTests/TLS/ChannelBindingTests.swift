import Foundation
import Testing

@testable import LoadingTransport

/// The hash of a server's certificate that binds an authentication to its TLS connection (RFC 5929 §4.1).
@Suite struct ChannelBindingTests {
    /// A certificate that OpenSSL's command has made, and what `openssl dgst` prints for it with the hash function that
    /// applies. Nil: there is none.
    struct Case: CustomTestStringConvertible {
        let signature: String
        let certificate: String
        let hash: String?

        var testDescription: String { signature }
    }

    // AUTH-37
    @Test("the certificate is hashed as its signature hashes", arguments: cases)
    func theCertificateIsHashedAsItsSignatureHashes(_ row: Case) throws {
        let der = try #require(Data(base64Encoded: row.certificate, options: .ignoreUnknownCharacters))
        let certificate = try #require(Certificate(der: [UInt8](der)))
        let data = ChannelBinding(endPoint: certificate)?.applicationData
        let prefix = Array("tls-server-end-point:".utf8)
        #expect(data.map { Array($0.prefix(prefix.count)) } == row.hash.map { _ in prefix })
        let hash = data?.dropFirst(prefix.count).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        #expect(hash?.joined() == row.hash)
    }

    // SHA-256 replaces MD5 and SHA-1. For RSASSA-PSS the hash function is a parameter of the signature. Ed25519 has
    // none that a certificate could be hashed with.
    static let cases = [
        Case(
            signature: "ecdsa-with-SHA256",
            certificate: """
                MIIBezCCASCgAwIBAgIUPimtzvZO3jPwtpBuhPWN0BeuT58wCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTI2
                MTEzMDExMjUwMVoXDTM2MTEyNzExMjUwMVowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
                Zuj5NlykpQntOUm4kKBaggBSrODYwSw4BETfqWRQFpI5kbVNh0ayxWfyA8NKWKqsIuV2hjrkAMV9BXjb+VitIKNQME4wHQYDVR0O
                BBYEFIsmwlRF2AvgXp4vcHeMadNR+IIWMB8GA1UdIwQYMBaAFIsmwlRF2AvgXp4vcHeMadNR+IIWMAwGA1UdEwEB/wQCMAAwCgYI
                KoZIzj0EAwIDSQAwRgIhALrWVgwr0Vga3GZqI2mK4Ru+HgOMBGQnxyBPXRSZeIyAAiEAw+YDceNJAx06PekUU4fF9ngDVTJdHaXr
                DBAbvcriMUY=
                """,
            hash: "0922419f209ace61e2871c8bcd47ce37ec9fe79d6decccc4f13acdb4ee8821e2"),
        Case(
            signature: "ecdsa-with-SHA384",
            certificate: """
                MIIBezCCASCgAwIBAgIUVAJH7Ai8H7/IoGM4kgDa+QbAYM4wCgYIKoZIzj0EAwMwFDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTI2
                MTEzMDExMjUwMloXDTM2MTEyNzExMjUwMlowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
                Zuj5NlykpQntOUm4kKBaggBSrODYwSw4BETfqWRQFpI5kbVNh0ayxWfyA8NKWKqsIuV2hjrkAMV9BXjb+VitIKNQME4wHQYDVR0O
                BBYEFIsmwlRF2AvgXp4vcHeMadNR+IIWMB8GA1UdIwQYMBaAFIsmwlRF2AvgXp4vcHeMadNR+IIWMAwGA1UdEwEB/wQCMAAwCgYI
                KoZIzj0EAwMDSQAwRgIhAJcGKiM4WsjDKRdEpANe5xyYi65eBANNEJeS5WMBC6NrAiEArHOIBhH0djkCVJG3LoUNNb7vpj3E9Yjh
                ur3OwGBMpy8=
                """,
            hash: "79b2732c1d45f5f00fe26a9d4b98190f4aff141cf3628fbec0d7183a66777c47278c8298e1ab1713c092aa651b8cf717"),
        Case(
            signature: "ecdsa-with-SHA512",
            certificate: """
                MIIBejCCASCgAwIBAgIUZXw9AVA5C3oRxkLfZLZmCowACPMwCgYIKoZIzj0EAwQwFDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTI2
                MTEzMDExMjUwMloXDTM2MTEyNzExMjUwMlowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
                Zuj5NlykpQntOUm4kKBaggBSrODYwSw4BETfqWRQFpI5kbVNh0ayxWfyA8NKWKqsIuV2hjrkAMV9BXjb+VitIKNQME4wHQYDVR0O
                BBYEFIsmwlRF2AvgXp4vcHeMadNR+IIWMB8GA1UdIwQYMBaAFIsmwlRF2AvgXp4vcHeMadNR+IIWMAwGA1UdEwEB/wQCMAAwCgYI
                KoZIzj0EAwQDSAAwRQIhAPRguVegKoVgKhoFE133WWXhIoPj1a2+c3XPQg/Vpio5AiB+bnwb76hEBp7Lqy2/yx2LfBhTSZU8vmnv
                ZWrLYyqQqg==
                """,
            hash: "ec314628f59d19374101b4822d694a1bb0c8b3da468bdd583613d14cdcdff81f21c435748f2f273b7cae878993ff4298"
                + "fdade510587cd27e8cc17ae2bb3cf9ad"),
        Case(
            signature: "ecdsa-with-SHA1",
            certificate: """
                MIIBeTCCAR+gAwIBAgIUCR4LPPBIBKmrDWxUdpe+WHoZQNgwCQYHKoZIzj0EATAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwHhcNMjYx
                MTMwMTEyNTAyWhcNMzYxMTI3MTEyNTAyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARm
                6Pk2XKSlCe05SbiQoFqCAFKs4NjBLDgERN+pZFAWkjmRtU2HRrLFZ/IDw0pYqqwi5XaGOuQAxX0FeNv5WK0go1AwTjAdBgNVHQ4E
                FgQUiybCVEXYC+Beni9wd4xp01H4ghYwHwYDVR0jBBgwFoAUiybCVEXYC+Beni9wd4xp01H4ghYwDAYDVR0TAQH/BAIwADAJBgcq
                hkjOPQQBA0kAMEYCIQDuZUde+u2vPhAClMg9rxaYpxidAz2fWZuNWPx9awh+UAIhALEs3DQYxJCendPcxa5H8VPvf2hATHUjtPCH
                RDYL9Isk
                """,
            hash: "6855a7db6f4665a4315416ab93074f4389e667362e05678b0e94dc2f8aaa0eac"),
        Case(
            signature: "md5WithRSAEncryption",
            certificate: """
                MIICATCCAWqgAwIBAgIUEYZy0scJgT7eUji+tV9aSkrL7SQwDQYJKoZIhvcNAQEEBQAwFDESMBAGA1UEAwwJbG9jYWxob3N0MB4X
                DTI2MTEzMDExMjUwMloXDTM2MTEyNzExMjUwMlowFDESMBAGA1UEAwwJbG9jYWxob3N0MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB
                iQKBgQDPEn58jmnuVWOLwVtYKSXYPkwfMuTxgc3VX+2Ywb5eRm8myOQ2kU4CRxPK05TPm1ugeS4xkCTwHl9+bJpMdxio8dIL+3aU
                7HYp/ENIFJKoMsGHsCRDxEHd7f55RkUnv61+NvBjUkqV0Jlmo9rf86fzoZxr+BGY/9Rjvst++5kMbQIDAQABo1AwTjAdBgNVHQ4E
                FgQUJJqYqX6YhInJGoYII+WHlYB/hBkwHwYDVR0jBBgwFoAUJJqYqX6YhInJGoYII+WHlYB/hBkwDAYDVR0TAQH/BAIwADANBgkq
                hkiG9w0BAQQFAAOBgQDH9Hqz65y9CbmAimY4JjvobTJ5AfqFMHCnqvzYHuiUEFIwFcfrzJXufBNN5l8NvNBM3d8NyWgjvmSfifIU
                3GPBV7y66l4UZZ7B9muTrdlsvAlzKZqdIGgwBCLk4/RzwKaNiDjrMsXGSKdUsKBX+fRifLBhIMELIoJMcD/QdQSLew==
                """,
            hash: "152da20486f36a3cd966d30a41ca1aa00232cbac7b07b32ce2493e872e8e121c"),
        Case(
            signature: "RSASSA-PSS with SHA-384",
            certificate: """
                MIICaTCCAZ6gAwIBAgIUatveMzFw36fcJGJlSwdSnCUj9BEwQQYJKoZIhvcNAQEKMDSgDzANBglghkgBZQMEAgIFAKEcMBoGCSqG
                SIb3DQEBCDANBglghkgBZQMEAgIFAKIDAgEwMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDAeFw0yNjExMzAxMTI1MDJaFw0zNjExMjcx
                MTI1MDJaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEAzxJ+fI5p7lVji8FbWCkl2D5M
                HzLk8YHN1V/tmMG+XkZvJsjkNpFOAkcTytOUz5tboHkuMZAk8B5ffmyaTHcYqPHSC/t2lOx2KfxDSBSSqDLBh7AkQ8RB3e3+eUZF
                J7+tfjbwY1JKldCZZqPa3/On86Gca/gRmP/UY77LfvuZDG0CAwEAAaNQME4wHQYDVR0OBBYEFCSamKl+mISJyRqGCCPlh5WAf4QZ
                MB8GA1UdIwQYMBaAFCSamKl+mISJyRqGCCPlh5WAf4QZMAwGA1UdEwEB/wQCMAAwQQYJKoZIhvcNAQEKMDSgDzANBglghkgBZQME
                AgIFAKEcMBoGCSqGSIb3DQEBCDANBglghkgBZQMEAgIFAKIDAgEwA4GBAEwQGv8HraH9tEjBp2jRvUW/WMpFBEEIRMe53lWbgvdD
                C58yRAqrl9uys8wNdzUohMKYtB8covPZ0mZ/FZXx6suDdCWnLtooD4/cCjwLkICdbSXJGU2jiId/nopF2ZlgwKPC+QExlDtlJrlo
                kJBtP3ZdsHzQefp+Uk1NDnQIv9ed
                """,
            hash: "d8ddb9f4a5f2a23b15b2134851119e42d9f42f969d873df01d8f62fc748c5ef44bf80e40063a29932f2e6ae241f226bb"),
        Case(
            signature: "Ed25519",
            certificate: """
                MIIBOTCB7KADAgECAhQsLbPuLcuni0HnrIWmwpIt8rmbGDAFBgMrZXAwFDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTI2MTEzMDEx
                MjUwMloXDTM2MTEyNzExMjUwMlowFDESMBAGA1UEAwwJbG9jYWxob3N0MCowBQYDK2VwAyEA/xpdc38/I+Wd1vg/tWK+/sFM8NmK
                VhnNNtijDoOjADWjUDBOMB0GA1UdDgQWBBQ/sdn9bMAMrx+sf/yAK285DkNTzTAfBgNVHSMEGDAWgBQ/sdn9bMAMrx+sf/yAK285
                DkNTzTAMBgNVHRMBAf8EAjAAMAUGAytlcANBAKstK2UWTgZe7ldb7dpb3h1sjZfqZUJT8pOeHeciV0SRpM+dHKn8idxgA8XKrZ6v
                Lt1ywaoiq7Tgcfuzs0Q4pgY=
                """,
            hash: nil),
    ]
}
