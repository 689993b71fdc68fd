//! Which files of `/etc` hold secrets, by convention: by their place, by their name, and small ones by what is in them.
//!
//! A program that finds settings missing says so; a secret that is told cannot be taken back. So in doubt it is one.

use std::path::Path;

/// Places below `/etc`, each with copies of it such as `NAME-`, `NAME.bak`, `NAME.d`; and why they are not shown.
const PLACES: [(&str, &str); 13] = [
    (
        "Accounts: hashes of passwords, and who may become whom",
        "shadow gshadow passwd- group- security sudoers sudo doas pam polkit-1 ppp grub grub2 pam_ldap \
         libnss-ldap nslcd sssd ipa yubico",
    ),
    (
        "What the machine is known by: whoever has it can be taken for the machine, or derive keys from it",
        "machine-id iscsi nvme crypttab cryptsetup-keys luks tpm2 clevis ostree",
    ),
    (
        "Keys and certificates with them",
        "ssl/private ssl/demoCA pki/tls/private pki/nssdb pki/rpm-gpg/private letsencrypt acme dehydrated \
         lego step krb5kdc gnupg opendkim dkimkeys swtpm",
    ),
    (
        "Networks: their passwords and keys",
        "NetworkManager netplan network wpa_supplicant iwd hostapd wireguard openvpn ipsec strongswan swanctl \
         racoon vpnc openconnect openfortivpn chatscripts wvdial tinc nebula zerotier tailscale tor stunnel \
         bluetooth dhcp frr raddb freeradius bind named rndc unbound powerdns dnsmasq ddclient inadyn snmp \
         iptables nftables firewalld ufw",
    ),
    (
        "Disks of other machines, with the passwords for them",
        "fstab exports auto autofs davfs2 cifs samba smb smbcredentials ceph rclone restic borg borgmatic \
         bacula bareos rsnapshot rsyncd",
    ),
    (
        "Mail",
        "postfix exim exim4 sendmail mail dovecot ssmtp msmtprc nullmailer fetchmailrc dma",
    ),
    (
        "Other services that keep passwords in their settings",
        "mysql/debian redis rabbitmq couchdb mongod influxdb grafana prometheus zabbix icinga2 nagios cups \
         vsftpd proftpd pure-ftpd apache2 httpd nginx lighttpd caddy haproxy squid traefik tomcat tomcat9 \
         tomcat10 jenkins gitlab gitlab-runner gitea forgejo vnc xrdp asterisk prosody ejabberd mosquitto \
         nextcloud libvirt syncthing guacamole",
    ),
    (
        "Containers and clusters, and who manages machines",
        "docker containerd containers crio kubernetes rancher k3s consul nomad vault etcd salt puppet \
         puppetlabs chef ansible cfengine3 rundeck teleport boundary",
    ),
    (
        "Agents of clouds and of monitoring, with the machine's credentials",
        "cloud waagent google boto amazon aws azure oci datadog-agent newrelic newrelic-infra telegraf \
         filebeat metricbeat elasticsearch logstash kibana fluent fluent-bit td-agent splunkforwarder osquery \
         falcon",
    ),
    (
        "Where packages come from: addresses with passwords in them",
        "apt yum dnf zypp pacman opkg netrc",
    ),
    (
        "Variables of all programs, proxies with passwords among them: which ones a command gets is decided by name",
        "environment profile.d default sysconfig",
    ),
    (
        "What runs by itself, with passwords in its command lines",
        "cron crontab anacrontab at incron init init.d inittab rc rc0 rc1 rc2 rc3 rc4 rc5 rc6 rcS runit sv s6 \
         systemd xinetd inetd supervisor monit",
    ),
    (
        "No secrets, but of no use to a command either: the machine's start, its kernel, its logs, its users and terminals",
        "acpi adduser apparmor apport audit bindresvport binfmt ca-certificates.conf debconf deluser dracut \
         e2scrub ethertypes fwupd initramfs initramfs-tools issue kernel libaudit locale.gen logcheck \
         logrotate modprobe modules-load motd PackageKit rsyslog selinux sensors sensors3 skel subgid subuid \
         sysctl tmpfiles ucf udev update-motd",
    ),
];

/// Parts of names, whatever is around them.
const ANYWHERE: [&str; 8] = [
    "credential",
    "passphrase",
    "passw",
    "private",
    "secret",
    "shadow",
    "token",
    "privkey",
];

/// Words of names: separated by anything but letters and digits.
const WORDS: [&str; 24] = [
    "auth", "cred", "creds", "htdigest", "jks", "kdbx", "keyfile", "keyring", "keyrings", "keys",
    "keystore", "keytab", "netrc", "opasswd", "ovpn", "p12", "pfx", "pgpass", "ppk", "priv", "pwd",
    "rsa", "sasl", "vault",
];

/// One of these is in every file that tells a secret.
const SIGNS: [&str; 5] = ["PRIVATE KEY", "_auth", "password", "token", "://"];

/// What a key or an entry of a package manager says, without blanks.
const TOLD: [&str; 5] = [
    "PRIVATEKEY-----",
    "_auth",
    "_password=",
    "password=",
    "token=",
];

/// As deep as places are.
const DEEPEST_PLACE: usize = 3;

/// Whether a path, relative to `/etc`, is to be taken for a secret. What is above it is not.
pub(crate) fn is_secret(relative: &Path) -> bool {
    let name = relative.file_name().and_then(|name| name.to_str());
    let Some((name, text)) = name.zip(relative.to_str()) else {
        return true;
    };
    let mut places = PLACES.iter().flat_map(|(_, places)| places.split(' '));
    let may_be_place = relative.components().count() <= DEEPEST_PLACE;
    is_named_like_one(name) || may_be_place && places.any(|place| is_at(text, place))
}

/// Whether a path is a place, or a copy or a part of it.
fn is_at(path: &str, place: &str) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.', '-', '~', '_']))
}

fn is_named_like_one(name: &str) -> bool {
    // What is hidden is for programs of the administrator, such as a repository of all of `/etc`.
    if name.starts_with('.') {
        return true;
    }
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    ANYWHERE.iter().any(|part| name.contains(part))
        || words.any(|word| word.ends_with("key") || WORDS.contains(&word))
}

/// Whether a small file says something that is a secret.
pub(crate) fn tells_a_secret(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    // Most files have none of the words, and then no line has to be looked at.
    if !SIGNS.iter().any(|sign| text.contains(sign)) {
        return false;
    }
    let lines = text.lines().map(|line| line.replace([' ', '\t'], ""));
    let mut said = lines.filter(|line| !line.starts_with(['#', ';']));
    said.any(|line| TOLD.iter().any(|told| line.contains(told)) || has_password_in_address(&line))
}

/// `scheme://user:password@host`
fn has_password_in_address(line: &str) -> bool {
    line.split("://").skip(1).any(|rest| {
        let authority = rest
            .split(['/', '"', '\'', '?', '#'])
            .next()
            .unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        user.is_some_and(|user| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With all that is above it, as they are asked for.
    fn is_secret(path: &str) -> bool {
        let mut above = Path::new(path).ancestors();
        above.any(|it| it != Path::new("") && super::is_secret(it))
    }

    /// Proves: S71.
    #[test]
    fn secrets_are_known_by_their_place_and_by_their_name() {
        let all = "shadow shadow- shadow.bak gshadow gshadow- passwd- security/opasswd sudoers sudoers.d/x \
                   ssh/ssh_host_rsa_key ssh/ssh_host_ed25519_key.pub ssl/private/x.pem letsencrypt/live/x.pem \
                   krb5.keytab openvpn/client.conf ppp/chap-secrets wireguard/wg0.conf \
                   NetworkManager/system-connections/x wpa_supplicant.conf mysql/debian.cnf docker/daemon.json \
                   docker/key.json cups/printers.conf postfix/sasl_passwd apt/auth.conf apt/auth.conf.d/x \
                   apt/sources.list netrc fstab fstab.bak cron.d/backup crontab cloud/cloud.cfg boto.cfg app/api-key \
                   app/apikey app/API_TOKEN app/db.password app/Credentials.json app/client_secret.json app/server.key \
                   app/store.p12 app/id_rsa .git app/.env environment profile.d/proxy.sh machine-id rc2.d app/auth.conf \
                   app/htpasswd";
        for path in all.split(' ') {
            assert!(is_secret(path), "{path}");
        }
    }

    /// Proves: S71.
    #[test]
    fn settings_of_programs_are_none() {
        let all = "java-17-openjdk/security/java.security maven/settings.xml maven/m2.conf fonts/fonts.conf \
                   chromium.d/default-flags ssl/openssl.cnf ssh/ssh_config alternatives/keytool networks krb5.conf \
                   group npmrc pip.conf X11/rgb.txt mailcap keyboard.conf login.defs mysql/my.cnf bash_completion.d/git \
                   attrs autoconf profile rpc request-policy.conf postgresql-common/user_clusters";
        for path in all.split(' ') {
            assert!(!is_secret(path), "{path}");
        }
    }

    /// Proves: S71.
    #[test]
    fn what_is_in_a_small_file_counts() {
        for text in [
            "-----BEGIN OPENSSH PRIVATE KEY-----\n",
            "//registry.npmjs.org/:_authToken=x",
            "[global]\nindex-url = https://me:word@host/simple\n",
            "http_proxy=http://me:word@proxy:3128",
            "password = x",
        ] {
            assert!(tells_a_secret(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "cert = /etc/ssl/certs/ca-certificates.crt\n",
            "index-url = https://host:8080/simple\n",
            "url = https://me@host/x\n",
            "# password = x\n",
            "-----BEGIN CERTIFICATE-----\n",
        ] {
            assert!(!tells_a_secret(text.as_bytes()), "{text}");
        }
    }
}
