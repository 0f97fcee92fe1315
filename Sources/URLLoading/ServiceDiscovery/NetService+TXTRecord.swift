public import Foundation
internal import LoadingSemantics

extension NetService {
    /// The keys and values of a TXT record (RFC 6763 §6). A key without a value has empty data. What is not valid is
    /// left out.
    public class func dictionary(fromTXTRecord txtData: Data) -> [String: Data] {
        TXTRecord.values(in: txtData).mapValues { Data($0) }
    }

    /// The TXT record of keys and values. Empty data if a key is not printable ASCII or contains "=", or if a key with
    /// its value has more than 254 bytes.
    public class func data(fromTXTRecord txtDictionary: [String: Data]) -> Data {
        TXTRecord.data(of: txtDictionary.mapValues { Array($0) }).map { Data($0) } ?? Data()
    }
}
